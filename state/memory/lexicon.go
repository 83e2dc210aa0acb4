package memory

import "strings"

// stopWords carry no meaning in a query: function words and question words.
var stopWords = set(`a an the of to in on at for with from by about as into and or but if so than then that this these
those it its is are was were be been being am do does did done doing have has had having will would can could should may
might must shall i you he she we they me him her us them my your his our their mine yours hers ours theirs who whom whose
what which when where why how not no nor there here any some all both each few more most other such only own same too
very just s t re ve ll d m don didn doesn isn wasn aren weren hasn haven hadn won wouldn couldn shouldn
der das und oder ist sind waren wer wie wann warum welche welcher welches ein eine einen einem einer den dem des wir ihr
ich es nicht auf mit von zu im für le la les du une et est sont qui que quoi quand quel quelle nous vous dans el los las
una quien cuando donde como cual por и в на не что как где когда кто это с по`)

// nameStops are stop words that are also names, months or abbreviations: they count if they are written in capitals.
var nameStops = set("may will it us am mark der los")

// unindexed are the stop words that are not in the index.
var unindexed = func() map[string]bool {
	words := set("may will it us am")
	out := map[string]bool{}
	for word := range stopWords {
		if !words[word] {
			out[word] = true
		}
	}
	return out
}()

// irregular maps irregular forms, and short forms that people use, to the word that is indexed.
var irregular = forms(`went gone goes:go; bought:buy; ran:run; took taken:take; gave given:give; saw seen:see; made:make;
got gotten:get; told:tell; said:say; found:find; thought:think; felt:feel; left:leave; kept:keep; began begun:begin; wrote
written:write; spoke spoken:speak; met:meet; won:win; lost:lose; came:come; became:become; brought:bring; taught:teach;
caught:catch; built:build; sent:send; spent:spend; chose chosen:choose; broke broken:break; drove driven:drive; flew
flown:fly; grew grown:grow; knew known:know; threw thrown:throw; drew drawn:draw; ate eaten:eat; fell fallen:fall; forgot
forgotten:forget; hid hidden:hide; rode ridden:ride; rose risen:rise; sang sung:sing; swam swum:swim; drank drunk:drink;
slept:sleep; stood:stand; understood:understand; heard:hear; held:hold; paid:pay; sold:sell; shot:shoot; sat:sit; wore
worn:wear; woke woken:wake; bit bitten:bite; blew blown:blow; dealt:deal; dug:dig; fed:feed; fought:fight; froze
frozen:freeze; hung:hang; laid:lay; led:lead; lent:lend; lit:light; meant:mean; shook shaken:shake; shown:show; stole
stolen:steal; stuck:stick; struck:strike; swept:sweep; tore torn:tear; overrode overridden:override; rewrote
rewritten:rewrite; rebuilt:rebuild; reran:rerun; redid redone:redo; undid undone:undo; withdrew withdrawn:withdraw;
children kid kids:child; men:man; women:woman; people:person; feet:foot; teeth:tooth; mice:mouse; wives:wife; knives:knife;
indices indexes:index; vertices:vertex; analyses:analysis; crises:crisis; criteria:criterion; better best:good; worse
worst:bad; mom mum mommy:mother; dad daddy:father; photo photos pic pics pictures:picture; favourite fave:favorite; colour
colours:color; db dbs:database; repo repos:repository; config configs:configuration; cfg:configuration; prod:production;
env envs:environment; k8s:kubernetes; docs:documentation; dir dirs:directory; folder folders:directory; msg msgs:message;
cert certs:certificate; deps dep:dependency; pw passwd pwd:password; auth:authentication; perf:performance; mem:memory;
pkg pkgs:package; lib libs:library; dev:development; app apps:application; info:information; admin admins:administrator;
img imgs:image; vm vms:machine; jan:january; feb:february; apr:april; aug:august; sept:september; oct:october; nov:november;
dec:december`)

func set(list string) map[string]bool {
	out := map[string]bool{}
	for _, word := range strings.Fields(list) {
		out[word] = true
	}
	return out
}

// forms parses "form form:base; …".
func forms(list string) map[string]string {
	out := map[string]string{}
	for group := range strings.SplitSeq(list, ";") {
		from, base, _ := strings.Cut(group, ":")
		for _, word := range strings.Fields(from) {
			out[word] = strings.TrimSpace(base)
		}
	}
	return out
}
