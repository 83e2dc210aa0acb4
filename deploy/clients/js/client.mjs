// A person's client on matrix-js-sdk, the engine of Element Web and Desktop, with its cryptography in WebAssembly.
// It does what it reads from stdin, {"id", "do", ...}, one line each, and prints {"id", "result"} or {"id", "error"}.
// Events of rooms are printed as {"event"} when they arrive and again when they change. The verbs are in bot/bottest.
//
// It is as strict as Element can be: it neither encrypts for devices that their owner has not signed nor reads them. Only
// an account's unsigned session is as lenient as Element is by default.

for (const name of ["log", "info", "debug", "warn", "trace"]) console[name] = console.error; // stdout is for answers

const { createInterface } = await import("node:readline");
const sdk = await import("matrix-js-sdk");
const { Attachment, EncryptedAttachment } = await import("@matrix-org/matrix-sdk-crypto-wasm");
const crypto = await import("matrix-js-sdk/lib/crypto-api/index.js");
const { logger } = await import("matrix-js-sdk/lib/logger.js");
const { compose, edited } = await import("./compose.mjs");
logger.setLevel?.("warn");

const print = (line) => process.stdout.write(JSON.stringify(line) + "\n");

let client; // the current session
let account; // {homeserver, user, password}
let recoveryKey; // of the account's secret storage

// tell prints an event as Element would show it now.
function tell(event) {
    if (!event.getRoomId() || !event.getId()?.startsWith("$")) return; // an echo of what is still being sent
    print({
        event: {
            room: event.getRoomId(), id: event.getId(), sender: event.getSender(), type: event.getType(),
            content: event.getContent(), encrypted: event.getWireType() === "m.room.encrypted",
            failure: event.decryptionFailureReason ?? "",
        },
    });
}

// open starts a session: {access_token, device_id, user_id} is the homeserver's answer to a login.
async function open(login, isolation) {
    client = sdk.createClient({
        baseUrl: account.homeserver, userId: login.user_id, deviceId: login.device_id, accessToken: login.access_token,
        verificationMethods: ["m.sas.v1"], timelineSupport: true,
        cryptoCallbacks: {
            getSecretStorageKey: async ({ keys }) => [Object.keys(keys)[0], recoveryKey],
        },
    });
    client.on(sdk.RoomEvent.Timeline, (event) => tell(event));
    client.on(sdk.MatrixEventEvent.Decrypted, (event) => tell(event));
    client.on(sdk.MatrixEventEvent.Replaced, (event) => tell(event));
    client.on(sdk.RoomEvent.LocalEchoUpdated, (event) => tell(event));
    client.on(sdk.RoomEvent.Redaction, (event, found) => {
        const redacted = found.findEventById(event.event.redacts ?? event.getContent().redacts);
        if (redacted) tell(redacted);
    });
    await client.initRustCrypto({ useIndexedDB: false });
    client.getCrypto().setDeviceIsolationMode(isolation ?? new crypto.OnlySignedDevicesIsolationMode());
    await client.startClient({ initialSyncLimit: 50, lazyLoadMembers: true, threadSupport: true });
    await new Promise((resolve) => client.on(sdk.ClientEvent.Sync, (state) => state === "PREPARED" && resolve()));
}

// until calls ok at each change of some events, until it returns something.
function until(emitter, names, ok) {
    return new Promise((resolve, reject) => {
        const look = async () => {
            try {
                const hit = await ok();
                if (!hit) return;
                for (const name of names) emitter.off(name, look);
                resolve(hit);
            } catch (error) {
                reject(error);
            }
        };
        for (const name of names) emitter.on(name, look);
        look();
    });
}

const password = () => ({ type: "m.login.password", identifier: { type: "m.id.user", user: account.user }, password: account.password });
const login = () => sdk.createClient({ baseUrl: account.homeserver }).loginRequest(password());
const room = (id, ok) => until(client, [sdk.ClientEvent.Room, sdk.RoomEvent.MyMembership, sdk.ClientEvent.Sync], async () => {
    const found = client.getRoom(id);
    return found && (await ok(found));
});
const isInvited = (found) => found.getMyMembership() === "invite";
const isReady = async (found) => found.getMyMembership() === "join" && (await client.getCrypto().isEncryptionEnabledInRoom(found.roomId));
const users = () => [...new Set(client.getRooms().flatMap((r) => r.getMembers().map((m) => m.userId)))];

const encryption = { type: "m.room.encryption", state_key: "", content: { algorithm: "m.megolm.v1.aes-sha2" } };

const verbs = {
    // login opens a session of an account.
    async login({ homeserver, user, password: secret, unsigned }) {
        account = { homeserver, user, password: secret };
        if (unsigned) return open(await login(), new crypto.AllDevicesIsolationMode(true));
        await open(await login());
        return verbs.identity();
    },

    // identity creates the account's cross-signing identity, its recovery key and a backup of its keys, as Element does.
    async identity() {
        const keys = client.getCrypto();
        await keys.bootstrapCrossSigning({ authUploadDeviceSigningKeys: (request) => request(password()) });
        await keys.bootstrapSecretStorage({
            createSecretStorageKey: async () => {
                const key = await keys.createRecoveryKeyFromPassphrase();
                recoveryKey = key.privateKey;
                return key;
            },
            setupNewKeyBackup: true,
        });
        if (!(await keys.isCrossSigningReady())) throw new Error("cross-signing is not ready");
    },

    // again logs in with a new device, which has only the recovery key, and restores what has been said from the backup.
    async again() {
        const backup = () => client.http.authedRequest("GET", "/room_keys/version", undefined, undefined, { prefix: "/_matrix/client/v3" });
        await until(client, [crypto.CryptoEvent.KeyBackupSessionsRemaining], async () => (await backup()).count >= 1);
        client.stopClient();
        await open(await login());
        return verbs.sign({ key: recoveryKey });
    },

    // key returns the account's recovery key.
    key: async () => [...recoveryKey],

    // sign gives the session the account's identity and keys, as when a person enters the recovery key.
    async sign({ key }) {
        recoveryKey = Uint8Array.from(key);
        await client.getCrypto().userHasCrossSigningKeys(client.getUserId(), true); // fetches the identity
        await client.getCrypto().bootstrapCrossSigning({});
        await client.getCrypto().loadSessionBackupPrivateKeyFromSecretStorage();
        await client.getCrypto().checkKeyBackupAndEnable();
        const { imported } = await client.getCrypto().restoreKeyBackup();
        return imported;
    },

    async create({ name, invite }) {
        const { room_id } = await client.createRoom({
            name, preset: "private_chat", visibility: "private", is_direct: invite.length === 1, invite,
            initial_state: [encryption],
        });
        await room(room_id, isReady);
        return room_id;
    },

    // direct creates a direct chat as Element does when its first message is sent: it does not wait for the other side.
    async direct({ user }) {
        const { room_id } = await client.createRoom({
            preset: "trusted_private_chat", visibility: "private", is_direct: true, invite: [user],
            initial_state: [{ type: "m.room.guest_access", state_key: "", content: { guest_access: "can_join" } }, encryption],
        });
        await client.setAccountData("m.direct", { ...client.getAccountData("m.direct")?.getContent(), [user]: [room_id] });
        await room(room_id, async (found) => (await isReady(found)) && found.getInvitedAndJoinedMemberCount() === 2);
        return room_id;
    },

    // join accepts an invitation.
    async join({ room: id }) {
        await room(id, isInvited);
        await client.joinRoom(id);
        await room(id, isReady);
    },

    // invite shares the keys of what has been said before, as Element does where history is visible.
    async invite({ room: id, user }) {
        await client.invite(id, user, { shareEncryptedHistory: true });
    },

    async send({ room: id, type, content }) {
        const { event_id } = await client.sendEvent(id, type, content);
        return event_id;
    },

    // say sends a text: as a reply to an event, in the thread of an event, or as an edit of one. A reply to an event in a
    // thread is in that thread.
    async say({ room: id, text, reply, thread, edit }) {
        const found = client.getRoom(id);
        const about = found.findEventById(reply ?? thread ?? edit ?? "");
        const repliesTo = reply ? about : edit && found.findEventById(about.replyEventId);
        let content = compose(found, text, repliesTo);
        if (reply) content["m.relates_to"] = { "m.in_reply_to": { event_id: reply } };
        if (edit) content = edited(about, content);
        const root = about?.threadRootId ?? thread ?? null;
        if (root && !found.getThread(root)) found.createThread(root, about, [], true);
        const { event_id } = await client.sendMessage(id, root, content);
        return event_id;
    },

    async redact({ room: id, event }) {
        const { event_id } = await client.redactEvent(id, event);
        return event_id;
    },

    async typing({ room: id }) {
        await client.sendTyping(id, true, 30000);
    },

    // preview returns the plain text of the event whose preview Element's list of rooms shows, or the key of a reaction.
    async preview({ room: id }) {
        const shown = client.getRoom(id).getLiveTimeline().getEvents().filter((event) => {
            return ["m.room.message", "m.sticker", "m.reaction"].includes(event.getType()) && !event.isRedacted();
        });
        const content = shown.at(-1)?.getContent();
        return content?.["m.relates_to"]?.key ?? (content?.["m.new_content"] ?? content)?.body ?? "";
    },

    // upload encrypts a file and returns the content of a message about it.
    async upload({ name, type, data }) {
        const bytes = Buffer.from(data, "base64");
        const sealed = Attachment.encrypt(bytes);
        const { content_uri } = await client.uploadContent(sealed.encryptedData, { type: "application/octet-stream", includeFilename: false });
        const file = { ...JSON.parse(sealed.mediaEncryptionInfo), url: content_uri };
        const msgtype = type.startsWith("image/") ? "m.image" : "m.file";
        return { msgtype, body: name, filename: name, file, info: { mimetype: type, size: bytes.length }, "m.mentions": {} };
    },

    // download returns the decrypted content of a file that somebody has sent.
    async download({ file }) {
        const url = client.mxcUrlToHttp(file.url, undefined, undefined, undefined, false, true, true);
        const response = await fetch(url, { headers: { Authorization: `Bearer ${client.getAccessToken()}` } });
        if (!response.ok) throw new Error(`download: ${response.status}`);
        const sealed = new EncryptedAttachment(new Uint8Array(await response.arrayBuffer()), JSON.stringify(file));
        return Buffer.from(Attachment.decrypt(sealed)).toString("base64");
    },

    // verify compares emojis with a user, in a room or from device to device, and confirms them.
    async verify({ user, room: id }) {
        const keys = client.getCrypto();
        let request;
        if (id) {
            request = await keys.requestVerificationDM(user, id);
        } else {
            const devices = (await keys.getUserDeviceInfo([user], true)).get(user);
            request = await keys.requestDeviceVerification(user, [...devices.keys()][0]);
        }
        const change = [crypto.VerificationRequestEvent.Change];
        const phase = (wanted) => until(request, change, () => {
            if (request.phase === crypto.VerificationPhase.Cancelled) throw new Error("verification cancelled: " + request.cancellationCode);
            return request.phase === wanted;
        });
        await phase(crypto.VerificationPhase.Ready);
        const verifier = await request.startVerification("m.sas.v1");
        const shown = new Promise((resolve) => verifier.on(crypto.VerifierEvent.ShowSas, resolve));
        const verified = verifier.verify();
        const sas = verifier.getShowSasCallbacks() ?? (await shown);
        await sas.confirm();
        await verified;
        await phase(crypto.VerificationPhase.Done);
        return sas.sas.emoji;
    },

    // review returns everything about the rooms that Element would warn of, and how it sees their members.
    async review() {
        const keys = client.getCrypto();
        const problems = [];
        for (const r of client.getRooms()) {
            for (const event of [...r.getLiveTimeline().getEvents(), ...r.getThreads().flatMap((thread) => thread.events)]) {
                const about = `${event.getType()} ${event.getId()} from ${event.getSender()}`;
                // Keys of the bot's do not say that they may be shared (MSC3061), so nobody shares them with those who come later.
                if (event.decryptionFailureReason === crypto.DecryptionFailureCode.HISTORICAL_MESSAGE_USER_NOT_JOINED) continue;
                if (event.isDecryptionFailure()) problems.push(`cannot decrypt ${about}: ${event.decryptionFailureReason}`);
                if (!event.isEncrypted()) continue;
                const info = await keys.getEncryptionInfoForEvent(event);
                if (info && info.shieldColour !== crypto.EventShieldColour.NONE)
                    problems.push(`${crypto.EventShieldColour[info.shieldColour]} shield, ${crypto.EventShieldReason[info.shieldReason]}, at ${about}`);
            }
        }
        const people = {};
        for (const user of users()) {
            const status = await keys.getUserVerificationStatus(user);
            const devices = (await keys.getUserDeviceInfo([user], true)).get(user) ?? new Map();
            people[user] = { verified: status.isCrossSigningVerified(), approval: status.needsUserApproval, devices: {} };
            for (const id of devices.keys()) {
                const trust = await keys.getDeviceVerificationStatus(user, id);
                people[user].devices[id] = { signed: trust.signedByOwner, verified: trust.crossSigningVerified };
            }
        }
        console.error("review:", JSON.stringify({ problems, people }));
        return { problems, people };
    },
};

for await (const line of createInterface({ input: process.stdin })) {
    const { id, do: verb, ...args } = JSON.parse(line);
    console.error("do:", verb);
    verbs[verb](args).then(
        (result) => print({ id, result: result ?? null }),
        (error) => print({ id, error: String(error?.stack ?? error) }),
    );
}
process.exit(0);
