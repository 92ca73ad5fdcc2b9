import { generateMail } from '../packages/server/test/mail/corpus.ts'
import type { GeneratedMessage } from '../packages/server/test/mail/message.ts'
import type { MailServer, TestUser } from '../packages/server/test/servers/mail-server.ts'
import { openWorld } from '../packages/server/test/servers/world.ts'

const CHUNK = 2000

/** Creates a user whose INBOX has this many generated messages, of which only a few are in memory at a time. */
export async function makeFullMailbox(server: MailServer, count: number, seed = 1): Promise<TestUser> {
  const user = await server.addUser()
  await using world = await openWorld(server, user)
  let chunk: GeneratedMessage[] = []
  for (const message of generateMail({ seed, count, hasMailboxes: false })) {
    chunk.push(message)
    if (chunk.length < CHUNK) continue
    await world.deliver(chunk)
    chunk = []
  }
  await world.deliver(chunk)
  return user
}
