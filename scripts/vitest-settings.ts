/** Settings of all test projects. */
export const SETTINGS = {
  // Most tests wait for servers, so more of them than there are cores keep the cores busy.
  maxWorkers: 3,
  // Patience, not speed: longer than what any test waits for, on a machine that is slow and shared.
  testTimeout: 300_000,
  hookTimeout: 300_000,
  // Most looks are calls of the service.
  expect: { poll: { timeout: 120_000, interval: 100 } },
}
