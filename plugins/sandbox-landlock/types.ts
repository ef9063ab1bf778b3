/** Confinement of programs by Landlock and seccomp, for toolsrv: threads that start them. */
export { lostBelow, stillOpen } from "./landlock.ts";
export { landlockVersion } from "./native.ts";
export { type Confined, confinedSpawner, type Launch, type Launched } from "./spawner.ts";
export { spawnerThread, type ThreadData } from "./thread.ts";
