import type { GeneratedMessage } from '../mail/message.ts'
import { readTruth } from './reference.ts'
import type { MailServer, TestUser } from './mail-server.ts'
import { openWorld } from './world.ts'

export interface FilledMessage extends GeneratedMessage {
  /** The whole path of the mailbox on this server, `/`-separated. */
  path: string
  uid: number
}

/**
 * Delivers generated mail, making the mailboxes that it names. Messages that a strict server refuses are left out
 * there. Returns what was delivered, in the order of delivery within each mailbox.
 */
export async function fillMailboxes(
  server: MailServer,
  user: TestUser,
  messages: Iterable<GeneratedMessage>,
): Promise<FilledMessage[]> {
  await using world = await openWorld(server, user)
  const known = new Set((await readTruth(server, user)).map(({ path }) => path))
  const byPath = new Map<string, GeneratedMessage[]>()
  for (const message of messages) {
    if (server.kind === 'cyrus' && !message.fitsStrictServer) continue
    const path = world.at(message.mailbox)
    const mail = byPath.get(path)
    if (mail) mail.push(message)
    else byPath.set(path, [message])
  }
  const filled: FilledMessage[] = []
  // Parents first: Cyrus makes them by itself for a child, and refuses to make them again.
  for (const [path, mail] of [...byPath].toSorted(([a], [b]) => (a < b ? -1 : 1))) {
    if (!known.has(path)) await world.createMailbox(path)
    const uids = await world.deliver(mail, path)
    mail.forEach((message, index) => filled.push({ ...message, path, uid: uids[index] ?? 0 }))
  }
  return filled
}
