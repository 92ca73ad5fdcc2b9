import { type ClientRun, keepDoing } from './client-run.ts'

const PAUSE_MILLISECONDS = [100, 900] as const

/** Changes mailboxes, address books or calendars past the service, as the mail programs of their owners do. */
export async function useOtherProgram(
  run: ClientRun,
  clients: ReadonlyArray<{ act(): Promise<unknown> }>,
): Promise<void> {
  await keepDoing(run, PAUSE_MILLISECONDS, () => run.random.pick(clients).act())
}
