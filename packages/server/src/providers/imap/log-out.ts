import { setTimeout as sleep } from 'node:timers/promises'
import type { ImapFlow } from 'imapflow'

const LOGOUT_MS = 1000

/** Ends a session, without waiting long for the server. */
export async function logOut(client: ImapFlow): Promise<void> {
  if (client.isClosed) return
  await Promise.race([client.logout().catch(() => {}), sleep(LOGOUT_MS, undefined, { ref: false })])
  client.close()
}
