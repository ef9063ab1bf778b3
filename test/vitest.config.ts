/** Tests run from the sources: the condition `source` makes #core, #plugins/* and ollie/* resolve to .ts files. */
import { defineConfig } from "vitest/config";

const conditions = ["source", "node", "module", "import", "default"];

export default defineConfig({
  root: new URL("..", import.meta.url).pathname,
  resolve: { conditions },
  ssr: { resolve: { conditions, externalConditions: ["source", "node"] } },
  test: {
    include: ["test/**/*.test.ts"],
    pool: "forks",
    maxWorkers: 2,
    testTimeout: 20_000,
    hookTimeout: 20_000,
    unstubEnvs: true,
    typecheck: { include: ["test/types/**/*.test-d.ts"], checker: "tsc", tsconfig: "tsconfig.json" },
  },
});
