import { expect, test } from 'vitest'
import { useServer } from '../servers/shared-server.ts'
import { arrangeGraph } from './arrange-graph.ts'
import { type GraphCall, startGraph } from './graph-server.ts'

const server = useServer(startGraph)

const rolesOf = (mailboxes: ReadonlyArray<{ role: string; name: string }>) =>
  mailboxes.filter(({ role }) => role === 'archive').map(({ name }) => name)
const noArchive = ({ path }: GraphCall) =>
  path.includes('/mailFolders/archive?')
    ? Response.json({ error: { code: 'ErrorItemNotFound' } }, { status: 404 })
    : null

test('gives a folder its role that is made while the connection lasts', async () => {
  await using arranged = await arrangeGraph(server())
  await using account = await arranged.connect()
  server().intercept = noArchive
  expect(rolesOf(await account.mail.listMailboxes())).toEqual([])
  server().intercept = null
  expect(rolesOf(await account.mail.listMailboxes())).toEqual([])
  await arranged.world.createMailbox('New')
  expect(rolesOf(await account.mail.listMailboxes())).toEqual(['Archive'])
})

test('asks again for roles after hours, since another folder may have one', async () => {
  await using arranged = await arrangeGraph(server())
  let aheadMs = 0
  const { mail } = server().connect(arranged.email, { now: () => Date.now() + aheadMs })
  server().intercept = noArchive
  expect(rolesOf(await mail.listMailboxes())).toEqual([])
  server().intercept = null
  aheadMs = 5 * 3_600_000
  expect(rolesOf(await mail.listMailboxes())).toEqual([])
  aheadMs = 6 * 3_600_000
  expect(rolesOf(await mail.listMailboxes())).toEqual(['Archive'])
})
