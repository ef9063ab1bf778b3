/** What a person does in a mounted tree, with a shell: the same list for each program that mounts. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Ran, type Rig, reads, rig, run, start, until } from "./rig.ts";

export interface Mounting {
  /** Mounts `rig.socket` at `dir`; gives what unmounts it. */
  mount(rig: Rig, dir: string): Promise<() => Promise<unknown>>;
  /** It cancels a read whose program is killed (Tflush). */
  flushes: boolean;
  /** It opens with OTRUNC where a shell says `>`. */
  truncates: boolean;
  /** Its close(2) waits for the clunk, so that a prompt is there when its writer is over. */
  commits: boolean;
}

const a1 = "session/s1/agent/a1";

export function mountTests(name: string, here: boolean, { mount, flushes, truncates, commits }: Mounting): void {
  const mounted = async () => {
    const served = await rig();
    const dir = join(served.folder, "mnt");
    mkdirSync(dir);
    const unmount = await mount(served, dir);
    onTestFinished(() => void unmount());
    // What hangs ends with the status 124, so that a test says what did.
    const shell = (script: string): string[] => ["timeout", "10", "/bin/sh", "-c", `cd ${dir}; ${script}`];
    return {
      ...served,
      shell,
      sh: (script: string): Promise<Ran> => run(shell(script)),
    };
  };

  describe.runIf(here)(name, () => {
    test("ls -lR goes through the whole tree and blocks nowhere", async () => {
      const { sh } = await mounted();
      const { code, out } = await sh("ls -lR .");
      expect(code).toBe(0);
      expect(out).toMatch(new RegExp(`^\\./${a1}:$`, "m"));
      expect(out).toMatch(/^-r--r--r-- .* chat$/m);
    });

    test("cat and cp give files whose length is 0 in stat", async () => {
      const { sh, folder } = await mounted();
      expect(await sh(`cat ${a1}/state`)).toMatchObject({ code: 0, out: "idle\n" });
      expect((await sh("cat help")).out).toMatch(/^0666 +prompt/m);
      expect((await sh(`cp help ${folder}/help && wc -c <${folder}/help`)).out.trim()).toMatch(/^\d{4,}$/);
    });

    test("echo >, tee and a file that is emptied take effect at the close", async () => {
      const { sh, kernel } = await mounted();
      expect(await sh(`printf 'one\\ntwo\\n' > ${a1}/plan; cat ${a1}/plan`)).toMatchObject({ out: "one\ntwo\n" });
      const emptied = truncates ? "" : "one\ntwo\n";
      expect(await sh(`: > ${a1}/plan; cat ${a1}/plan`)).toMatchObject({ code: 0, out: emptied });
      expect(await sh(`echo help > ${a1}/ctl`)).toMatchObject({ code: 0 });
      expect(await sh(`echo hello | tee ${a1}/prompt`)).toMatchObject({ code: 0 });
      if (!commits) await until(async () => (await kernel.fs.read(`/${a1}/log`)).includes("hello"));
      expect(await kernel.prompt("again")).toMatch(/hello[\s\S]*again/);
    });

    test("what is refused fails", async () => {
      const { sh } = await mounted();
      expect((await sh(`echo bogus > ${a1}/ctl`)).code).not.toBe(0);
      expect((await sh("cat nothing")).err).toMatch(/no such file/i);
      expect((await sh(`rm ${a1}/state`)).code).not.toBe(0);
      expect((await sh("touch new")).code).not.toBe(0);
    });

    test("grep -R over files that do not block comes to its end", async () => {
      const { sh } = await mounted();
      const { code, out } = await sh("grep -R running plugins");
      expect(code).toBe(0);
      expect(out).toContain("plugins/sessions/status");
    });

    test("mv renames a session, rmdir ends it", async () => {
      const { sh, kernel } = await mounted();
      expect(await sh("mv session/s1 session/s9")).toMatchObject({ code: 0, err: "" });
      expect(await kernel.fs.read("/session/s9/name")).toBe("s9\n");
      expect(await sh("rmdir session/s9")).toMatchObject({ code: 0, err: "" });
      expect(await kernel.fs.ls("/session")).not.toContain("s9");
    });

    test("a blocked cat is killed, and the mount goes on meanwhile", async () => {
      const { sh, shell, kernel } = await mounted();
      const cat = start(shell(`exec cat ${a1}/statewait`));
      const over = new Promise((done) => cat.on("close", done));
      await new Promise((done) => setTimeout(done, 300));
      expect(cat.exitCode).toBe(null);
      cat.kill();
      if (flushes) await over;
      expect(await sh(`cat ${a1}/state`)).toMatchObject({ code: 0, out: "idle\n" });
      await kernel.prompt("hello");
      // Where nothing cancels the read, it is over with the next state.
      await over;
    });

    test("a blocked read of statewait wakes", async () => {
      const { shell, kernel } = await mounted();
      const cat = start(shell(`exec cat ${a1}/statewait`));
      const woken = reads(cat, (text) => text.endsWith("\n"));
      await new Promise((done) => setTimeout(done, 300));
      await kernel.prompt("hello");
      expect(await woken).toMatch(/^\w+\n/);
    });
  });
}
