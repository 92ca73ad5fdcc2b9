import { expect, test } from 'vitest'
import { SERVER_KINDS, useServer } from '../servers/shared-server.ts'
import { openWorld } from '../servers/world.ts'
import { waitUntil } from '../wait-until.ts'
import {
  connectMailbox,
  openSyncApp,
  readFeed,
  readMailboxes,
  readMessages,
  waitForFirstSync,
} from './followed-account.ts'

// Cyrus lets users assign roles (RFC 6154 section 4).
const useIt = useServer(SERVER_KINDS[2].start)

function letter(subject: string, from: string) {
  const head = [`From: ${from}`, `Subject: ${subject}`, `Message-ID: <${subject}@a.test>`]
  return { raw: `${head.join('\r\n')}\r\n\r\nText\r\n` }
}

test('mail is outbound while its mailbox has the role sent, and each change is announced', async () => {
  const server = useIt()
  const user = await server.addUser()
  await using world = await openWorld(server, user)
  // More messages than fit into one transaction.
  const shared = Array.from({ length: 600 }, (_, nth) => letter(`shared-${nth}`, 'team@b.test'))
  const [work, sent] = [world.at('Work'), world.at('Sent')]
  const giveRole = (path: string, role: string) =>
    world.witness.command(
      `SETMETADATA "${path.replaceAll('/', server.separator)}" (/private/specialuse ${role})`,
    )
  await world.createMailbox(work)
  await world.deliver([...shared, letter('own', user.email.toUpperCase())], work)
  await world.deliver(letter('elsewhere', 'team@b.test'))
  await using app = await openSyncApp({ roles: ['api', 'sync', 'jobs'] })
  const accountId = await connectMailbox(app, server, user)
  await waitForFirstSync(app, accountId)
  const { cursor } = await readFeed(app)
  const readOutbound = async () => {
    const messages = await readMessages(app, accountId)
    return messages.filter(({ direction }) => direction === 'outbound').length
  }
  const readRole = async (path: string) =>
    (await readMailboxes(app, accountId)).find(mailbox => mailbox.path === path)?.role
  const told = async () => {
    const { events } = await readFeed(app, cursor)
    const updated = events.filter(({ type }) => type === 'message.updated')
    for (const { data } of updated) {
      expect(data.changes).toEqual(['direction'])
      expect(data.message?.subject).toMatch(/^shared-/)
    }
    return updated.length
  }
  expect(await readOutbound()).toBe(1)

  await giveRole(sent, 'NIL')
  await giveRole(work, String.raw`"\Sent"`)
  await waitUntil('the role to come', async () => (await readRole(work)) === 'sent')
  await waitUntil('the mail to be outbound', async () => (await readOutbound()) === 601)
  expect(await told()).toBe(600)

  await giveRole(work, 'NIL')
  await waitUntil('the role to go', async () => (await readRole(work)) === 'custom')
  await waitUntil('the mail to be inbound', async () => (await readOutbound()) === 1)
  expect(await told()).toBe(1200)
})
