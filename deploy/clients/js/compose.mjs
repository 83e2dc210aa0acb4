// What Element's composer makes of what people write.

const pill = /@[a-z0-9._=/+-]+:[A-Za-z0-9.-]+(?::[0-9]+)?/g;
const named = (users) => (users.length > 0 ? { user_ids: users } : {});

// compose makes of a text what Element's composer does. A user's ID in it stands for a pill; its name is all that the plain
// text has. repliesTo is an event.
export function compose(found, text, repliesTo) {
    const name = (id) => found.getMember(id)?.rawDisplayName ?? id;
    const users = new Set([...(repliesTo ? [repliesTo.getSender()] : []), ...(text.match(pill) ?? [])]);
    users.delete(found.myUserId);
    const content = { msgtype: "m.text", body: text.replace(pill, name), "m.mentions": named([...users]) };
    if (content.body === text) return content;
    const html = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replace(pill, (id) => `<a href="https://matrix.to/#/${id}">${name(id)}</a>`);
    return { ...content, format: "org.matrix.custom.html", formatted_body: html };
}

// edited makes the content of an edit. It mentions whom the message has not mentioned before.
export function edited(before, content) {
    const known = before.getContent()["m.mentions"]?.user_ids ?? [];
    const fresh = (content["m.mentions"].user_ids ?? []).filter((user) => !known.includes(user));
    const html = content.formatted_body && { formatted_body: "* " + content.formatted_body };
    return {
        ...content, ...html, body: "* " + content.body, "m.mentions": named(fresh),
        "m.new_content": content, "m.relates_to": { rel_type: "m.replace", event_id: before.getId() },
    };
}
