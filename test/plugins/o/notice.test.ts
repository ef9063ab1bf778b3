import { expect, it } from "vitest";
import { unseenSettings } from "../../../plugins/o/notice.ts";

const place = (backend: string) => ({ session: "s", path: "session/s/agent/a", cwd: "/w", backend, model: "m" });
const key = { OPENAI_API_KEY: "k", PATH: "/bin" };

it("says that a daemon which runs does not see a key that is set here", () => {
  expect(unseenSettings(place("script"), true, key)).toMatch(
    /^the daemon was started before OPENAI_API_KEY was set here/,
  );
});

it("says nothing where the daemon was started here, has a model, or the script is wanted", () => {
  expect(unseenSettings(place("script"), false, key)).toBeUndefined();
  expect(unseenSettings(place("openai"), true, key)).toBeUndefined();
  expect(unseenSettings(place("script"), true, { ...key, OLLIE_BACKEND: "script" })).toBeUndefined();
  expect(unseenSettings(place("script"), true, { PATH: "/bin" })).toBeUndefined();
});
