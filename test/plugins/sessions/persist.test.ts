/** What is on disk after all kinds of ends, and what a start makes of it. */
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test, vi } from "vitest";
import { createKernel } from "#core";
import type { Session } from "#plugins/sessions";
import sessions from "../../../plugins/sessions/index.ts";
import { writeTranscript } from "../../../plugins/sessions/transcript.ts";
import { must, type Rig, start, tempDir } from "./kit.ts";

const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
const files = (dir: string) => readdirSync(dir).filter((name) => !name.startsWith("lock."));
/** Uses the session: that is when it is restored. */
const notesOf = (rig: Rig, session: Session) => {
  rig.sessions.ready(session);
  return rig.part.notes.get(session.id);
};

/** A session with a saved note and two journaled ones, as a kill -9 leaves it: the files are copied before the close. */
async function crashed(): Promise<{ dir: string; id: string }> {
  const from = tempDir();
  const dir = tempDir();
  const rig = await start(from);
  const session = rig.sessions.create({ name: "work", env: { A: "1" } });
  await rig.part.add(session, "saved");
  await rig.sessions.save(session);
  await Promise.all([rig.part.add(session, "one"), rig.part.add(session, "two")]);
  for (const name of files(from)) writeFileSync(join(dir, name), readFileSync(join(from, name)));
  await rig.kernel.close();
  return { dir, id: session.id };
}

test("sessions, their variables and their parts come back after a restart", async () => {
  const dir = tempDir();
  const first = await start(dir);
  await first.fs.rdwr("/session/new", "name=work env.A=1");
  const { id, created } = must(first.sessions.get("work"));
  await first.part.add(must(first.sessions.get("work")), "note");
  await first.fs.rename("/session/work", "renamed");
  await first.kernel.close();
  expect(first.part.said).toEqual(["shutdown renamed"]);
  const saved = JSON.parse(readFileSync(join(dir, `${id}.json`), "utf8"));
  expect(saved).toMatchObject({
    version: 1,
    session: { name: "renamed" },
    rows: [{ cwd: "note" }],
    agents: { notes: ["note"] },
  });

  const second = await start(dir);
  const session = must(second.sessions.get("renamed"));
  expect(session).toMatchObject({ id, created, dead: false });
  expect([...session.env]).toEqual([["A", "1"]]);
  expect(notesOf(second, session)).toEqual(["note"]);
  expect(second.log).toEqual([]);
});

test("a start and an end that change nothing write nothing", async () => {
  const { dir, id } = await crashed();
  const first = await start(dir);
  first.sessions.ready(must(first.sessions.get(id)));
  await first.kernel.close();
  const { ino } = statSync(join(dir, `${id}.json`));
  const second = await start(dir);
  expect(notesOf(second, must(second.sessions.get(id)))).toEqual(["saved", "one", "two"]);
  await second.kernel.close();
  expect(statSync(join(dir, `${id}.json`)).ino).toBe(ino);
});

test("a killed session is gone from the disk, files of its parts too", async () => {
  const dir = tempDir();
  const { sessions, fs } = await start(dir);
  const session = sessions.create({ name: "s" });
  writeFileSync(sessions.file(session, "a.chat"), "text");
  await sessions.journal(session, 1);
  await fs.remove("/session/s");
  expect(files(dir)).toEqual([]);
});

test("after a crash the journal is read behind the snapshot, each line once", async () => {
  const { dir, id } = await crashed();
  const rig = await start(dir);
  const session = must(rig.sessions.get(id));
  expect(notesOf(rig, session)).toEqual(["saved", "one", "two"]);
  expect(session.name).toBe("work");
  await rig.part.add(session, "three");
  await rig.kernel.close();
  const again = await start(dir);
  expect(notesOf(again, session)).toEqual(["saved", "one", "two", "three"]);
});

test("a crash between snapshot and journal applies no line twice", async () => {
  const { dir, id } = await crashed();
  const journal = readFileSync(join(dir, `${id}.journal.jsonl`));
  const rig = await start(dir);
  rig.sessions.ready(must(rig.sessions.get(id)));
  await rig.sessions.save(must(rig.sessions.get(id)));
  await rig.kernel.close();
  writeFileSync(join(dir, `${id}.journal.jsonl`), journal);
  const again = await start(dir);
  expect(notesOf(again, must(again.sessions.get(id)))).toEqual(["saved", "one", "two"]);
});

test("H-034: a torn last journal line is dropped and said, and the next line goes in its place", async () => {
  const { dir, id } = await crashed();
  appendFileSync(join(dir, `${id}.journal.jsonl`), '{"n":9,"v":{"note":"neve');
  const rig = await start(dir);
  const session = must(rig.sessions.get(id));
  expect(notesOf(rig, session)).toEqual(["saved", "one", "two"]);
  expect(rig.log.join("\n")).toMatch(
    /session work: the last line of its journal was cut short and is dropped \(24 bytes\)/,
  );
  await rig.part.add(session, "three");
  expect(readFileSync(join(dir, `${id}.journal.jsonl`), "utf8")).not.toContain("neve");
});

test("H-034: a snapshot that was cut short is kept aside and listed as damaged, the others load", async () => {
  const { dir, id } = await crashed();
  const rig = await start(dir);
  rig.sessions.create({ name: "other" });
  await rig.kernel.close();
  const path = join(dir, `${id}.json`);
  const before = readFileSync(path);
  truncateSync(path, before.length - 10);

  const again = await start(dir);
  expect(again.sessions.list().map(({ name }) => name)).toEqual(["other"]);
  expect(await again.fs.read("/session/idx")).toContain(`work\tdamaged\t\t\t\t\t${id}\t\n`);
  const aside = must(files(dir).find((name) => name.startsWith(`${id}.json.damaged-`)));
  expect(readFileSync(join(dir, aside))).toEqual(before.subarray(0, -10));
  expect(again.log.join("\n")).toContain(`kept as ${join(dir, aside)}`);
  expect(existsSync(path)).toBe(false);
});

test.each([
  ["its last newline taken away", (text: string) => text.trimEnd()],
  ["another newline", (text: string) => `${text}\n`],
  ["line ends of another system", (text: string) => text.replaceAll("\n", "\r\n")],
  ["a byte order mark", (text: string) => `\uFEFF${text}`],
])("a snapshot that an editor has left with %s is read, and a mistake in it is still damage", async (_, edit) => {
  const { dir, id } = await crashed();
  const path = join(dir, `${id}.json`);
  writeFileSync(path, edit(readFileSync(path, "utf8")));
  const rig = await start(dir);
  const [session] = rig.sessions.list();
  expect(notesOf(rig, must(session))).toEqual(["saved", "one", "two"]);
  await rig.part.add(must(session), "three");
  await rig.kernel.close();
  const again = await start(dir);
  expect(notesOf(again, must(again.sessions.list()[0]))).toEqual(["saved", "one", "two", "three"]);
  await again.kernel.close();
  writeFileSync(path, edit(readFileSync(path, "utf8").replace('"saved"', '"saved')));
  const third = await start(dir);
  if (third.sessions.list()[0]) third.sessions.ready(must(third.sessions.list()[0]));
  expect(await third.fs.read("/session/idx")).toContain("\tdamaged\t");
});

test("H-034: a broken line in the middle of a journal is damage, not a shorter history", async () => {
  const { dir, id } = await crashed();
  const path = join(dir, `${id}.journal.jsonl`);
  writeFileSync(path, readFileSync(path, "utf8").replace('"one"', '"one'));
  const rig = await start(dir);
  const [session] = rig.sessions.list();
  rig.sessions.ready(must(session));
  expect(rig.sessions.list()).toEqual([]);
  expect(await rig.fs.read("/session/idx")).toBe(`work\tdamaged\t\t\t\t\t${id}\t\n`);
  await rig.kernel.close();
  expect(rig.log.join("\n")).toContain("saved file is damaged");
  expect(files(dir).map((name) => name.replace(/damaged-.*/, "damaged"))).toEqual([
    `${id}.journal.jsonl.damaged`,
    `${id}.json.damaged`,
  ]);
});

test("H-040: missing keys get defaults, unknown ones survive, foreign files are passed over and said", async () => {
  const { dir, id } = await crashed();
  const path = join(dir, `${id}.json`);
  const before = await start(dir);
  before.sessions.ready(must(before.sessions.get(id)));
  await before.kernel.close();
  const saved = JSON.parse(readFileSync(path, "utf8"));
  saved.session = { id, color: "red" };
  saved.future = { deep: [1] };
  delete saved.rows;
  writeFileSync(path, JSON.stringify(saved, null, 2));
  writeFileSync(join(dir, "notes.json"), '{"hello":1}');
  writeFileSync(join(dir, "empty.json"), "");
  mkdirSync(join(dir, "folder"));
  const newer = "11111111-1111-4111-8111-111111111111";
  writeFileSync(join(dir, `${newer}.json`), `{"version":99,"session":{"id":"${newer}"}}`);

  const rig = await start(dir);
  const [session] = rig.sessions.list();
  expect(session).toMatchObject({ id, name: id.slice(0, 8) });
  expect(notesOf(rig, must(session))).toEqual(["saved", "one", "two"]);
  await rig.part.add(must(session), "three");
  for (const name of ["notes.json", "empty.json", "folder", `${newer}.json`])
    expect(rig.log.join("\n")).toContain(`file ${name} is passed over`);
  await rig.kernel.close();
  expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ future: { deep: [1] }, session: { color: "red" } });
  expect(files(dir)).toEqual(expect.arrayContaining(["notes.json", "empty.json", "folder", `${newer}.json`]));
});

test("the older form with one agent is taken over, and kept", async () => {
  const dir = tempDir();
  const old = {
    id: "1700000000-abc123",
    agent: "coding",
    messages: [
      { role: "user", content: "list" },
      { role: "assistant", content: "", tool_calls: [{ id: "c1", name: "shell", arguments: { command: "ls" } }] },
      { role: "tool", content: "a b", tool_call_id: "c1" },
    ],
  };
  writeFileSync(join(dir, "1700000000-abc123.json"), JSON.stringify(old));
  const rig = await start(dir, { part: false });
  const session = must(rig.sessions.get("1700000000-abc123"));
  await rig.kernel.close();
  const saved = JSON.parse(readFileSync(join(dir, `${session.id}.json`), "utf8"));
  expect(saved.agents).toMatchObject([
    {
      agent: "coding",
      messages: [old.messages[0], old.messages[1], { ...old.messages[2], name: "shell" }],
    },
  ]);
  expect(files(dir).sort()).toEqual(["1700000000-abc123.json.imported", `${session.id}.json`].sort());
  expect((await start(dir)).sessions.list()).toHaveLength(1);
});

test("what a part that is not there has saved survives", async () => {
  const { dir, id } = await crashed();
  const without = await start(dir, { part: false });
  await without.fs.rename("/session/work", "other");
  await without.kernel.close();
  const rig = await start(dir);
  expect(notesOf(rig, must(rig.sessions.get("other")))).toEqual(["saved", "one", "two"]);
  expect(rig.sessions.get("other")?.id).toBe(id);
});

test("H-095: folder 0700 and files 0600, whatever the umask and whatever they were", async () => {
  const mask = process.umask(0);
  onTestFinished(() => void process.umask(mask));
  const dir = join(tempDir(), "data", "sessions");
  mkdirSync(dir, { recursive: true, mode: 0o755 });
  const { sessions } = await start(dir);
  const session = sessions.create({ name: "s" });
  await sessions.save(session);
  await sessions.journal(session, 1);
  sessions.file(session, "a.chat");
  expect(mode(dir)).toBe("700");
  const names = readdirSync(dir);
  expect(names).toHaveLength(4);
  for (const name of names) expect(mode(join(dir, name)), name).toBe("600");
});

test("the data folder is closed to others; what is above a folder of the user's choice stays as it is", async () => {
  const mask = process.umask(0);
  onTestFinished(() => void process.umask(mask));
  const [data, chosen] = [join(tempDir(), "data"), join(tempDir(), "chosen")];
  for (const dir of [data, chosen]) mkdirSync(dir, { mode: 0o755 });
  vi.stubEnv("OLLIE_DATA_PATH", data);
  for (const use of [sessions(), sessions({ dir: join(chosen, "sessions") })]) {
    const kernel = createKernel({ plugins: [use] });
    await kernel.start();
    await kernel.close();
  }
  expect([data, join(data, "sessions"), chosen, join(chosen, "sessions")].map(mode)).toEqual([
    "700",
    "700",
    "755",
    "700",
  ]);
});

test("a folder that users share is not closed to them", async () => {
  const shared = join(tempDir(), "shared");
  mkdirSync(shared);
  chmodSync(shared, 0o1777);
  vi.stubEnv("OLLIE_DATA_PATH", shared);
  for (const use of [sessions(), sessions({ dir: shared })])
    await expect(createKernel({ plugins: [use] }).start()).rejects.toThrow(
      `${shared} is a folder that users share, name one of your own`,
    );
  vi.stubEnv("OLLIE_TRANSCRIPT_PATH", shared);
  expect(dirname(await writeTranscript("text"))).toBe(shared);
  expect(mode(shared)).toBe("777");
});

/** A small file system of its own; undefined where this user may not mount one. */
function smallDisk(): string | undefined {
  const at = tempDir();
  if (spawnSync("mount", ["-t", "tmpfs", "-o", "size=1m,mode=0700", "tmpfs", at]).status !== 0) return undefined;
  onTestFinished(() => void spawnSync("umount", ["-l", at]));
  return at;
}

test("H-035: a full disk loses nothing, is told once with its name, and the next save works", async ({ skip }) => {
  const disk = smallDisk();
  if (disk === undefined) return skip("no right to mount a tmpfs: the full disk is not tested");
  const dir = join(disk, "sessions");
  const rig = await start(dir);
  const session = rig.sessions.create({ name: "s" });
  await rig.part.add(session, "first");
  await rig.sessions.save(session);
  await rig.part.add(session, "second");
  const before = readFileSync(join(dir, `${session.id}.json`), "utf8");
  const events: string[] = [];
  const reader = rig.fs.stream("/eventwait")[Symbol.asyncIterator]();
  const event = reader.next();
  const fill = join(disk, "fill");
  spawnSync("dd", ["if=/dev/zero", `of=${fill}`, "bs=4096"]);

  const big = "x".repeat(20_000);
  await expect(rig.part.add(session, big)).rejects.toThrow(`journal not written: no space left on ${disk}`);
  await expect(rig.part.add(session, big)).rejects.toThrow(/no space left/);
  await expect(rig.sessions.save(session)).rejects.toThrow(`not saved: no space left on ${disk}`);
  await expect(rig.fs.rdwr("/session/new", `name=more env.A=${big}`)).rejects.toThrow(/no space left/);
  expect(rig.sessions.get("more")).toBeUndefined();
  events.push((await event).value ?? "");
  expect(events.join("")).toBe(`E session/s journal not written: no space left on ${disk}\n`);
  expect(rig.log.filter((line) => line.startsWith("session s:"))).toHaveLength(1);
  expect(readFileSync(join(dir, `${session.id}.json`), "utf8")).toBe(before);
  expect(files(dir).filter((name) => name.includes("tmp"))).toEqual([]);

  spawnSync("rm", [fill]);
  await rig.part.add(session, "third");
  expect(
    readFileSync(join(dir, `${session.id}.journal.jsonl`), "utf8")
      .trimEnd()
      .split("\n")
      .flatMap((l) => JSON.parse(l).v?.note ?? []),
  ).toEqual(["second", "third"]);
  await rig.sessions.save(session);
  expect(JSON.parse(readFileSync(join(dir, `${session.id}.json`), "utf8")).agents.notes).toEqual([
    "first",
    "second",
    big,
    big,
    "third",
  ]);
});
