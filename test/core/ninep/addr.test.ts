import { describe, expect, it } from "vitest";
import { namespaceDir, parseAddr } from "../../../core/ninep/addr.ts";

describe("namespaceDir", () => {
  it("is NAMESPACE, else made of user and display", () => {
    expect(namespaceDir({ NAMESPACE: "/run/ns", USER: "glenda" })).toBe("/run/ns");
    expect(namespaceDir({ USER: "glenda" })).toBe("/tmp/ns.glenda.:0");
    expect(namespaceDir({ USER: "glenda", DISPLAY: "" })).toBe("/tmp/ns.glenda.:0");
    expect(namespaceDir({ USER: "glenda", DISPLAY: ":1.0" })).toBe("/tmp/ns.glenda.:1");
    expect(namespaceDir({ USER: "glenda", DISPLAY: ":1.10" })).toBe("/tmp/ns.glenda.:1.10");
    expect(namespaceDir({ USER: "glenda", DISPLAY: "/private/x/org.xquartz:0" })).toBe(
      "/tmp/ns.glenda._private_x_org.xquartz:0",
    );
  });
});

describe("parseAddr", () => {
  it("takes dial strings and paths", () => {
    expect(parseAddr("unix!/a/b")).toEqual({ unix: "/a/b" });
    expect(parseAddr("unix!/a!b")).toEqual({ unix: "/a!b" });
    expect(parseAddr("/a/b")).toEqual({ unix: "/a/b" });
    expect(parseAddr("tcp!localhost!564")).toEqual({ host: "localhost", port: 564 });
    expect(parseAddr("tcp!::1!564")).toEqual({ host: "::1", port: 564 });
  });

  it("is the socket ollie of the name space by default", () => {
    expect(parseAddr(undefined, { NAMESPACE: "/run/ns" })).toEqual({ unix: "/run/ns/ollie" });
  });

  it("refuses anything else with one sentence", () => {
    for (const text of [
      "",
      "a/b",
      "unix!",
      "tcp!host",
      "tcp!host!",
      "tcp!host!http",
      "tcp!host!70000",
      "tcp!h!1!2",
      "udp!h!1",
    ])
      expect(() => parseAddr(text)).toThrow(
        `address ${JSON.stringify(text)} is none of unix!PATH, tcp!HOST!PORT, /PATH`,
      );
  });

  it("refuses socket paths over 100 bytes, which the system would cut", () => {
    const path = `/${"é".repeat(50)}`;
    expect(() => parseAddr(path)).toThrow(/has 101 bytes, more than 100: set NAMESPACE to a shorter folder$/);
    expect(() => parseAddr(`unix!${path}`)).toThrow(/101 bytes/);
    expect(() => parseAddr(undefined, { NAMESPACE: path })).toThrow(/bytes/);
    expect(parseAddr(path.slice(0, -1))).toEqual({ unix: path.slice(0, -1) });
  });
});
