import { type Client, GraphError, PageIterator } from '@microsoft/microsoft-graph-client'
import type { MailFolder, Message } from '@microsoft/microsoft-graph-types'
import { expect, test } from 'vitest'
import { cloudOf } from '../../src/microsoft/clouds.ts'
import { requireUser } from '../../src/world/users.ts'
import { useSandbox } from '../use-sandbox.ts'
import { openClient } from './client.ts'

const used = useSandbox()

/** Microsoft's own client for a user, by default with a token of its own. */
async function clientOf(
  user: string,
  scopes = ['User.Read', 'Mail.ReadWrite'],
  token?: string,
): Promise<Client> {
  const cloud = cloudOf(requireUser(used.sandbox.world.users, user))
  const grant = { provider: 'microsoft', user, clientId: 'sandbox', scopes }
  const accessToken = token ?? (await used.ask('POST', '/grants', grant)).data.accessToken
  return openClient(cloud, accessToken, used.origin)
}

test.each([
  'eva@office.test',
  'greta@outlook.test',
  'hugo@agency.test',
  'ivy@base.test',
  'jun@shanghai.test',
])("is read by Microsoft's own client as %s", async user => {
  const client = await clientOf(user)
  const me = await client.api('/me').get()
  const folders = await client.api(`/users/${me.id}/mailFolders`).top(50).get()
  expect(folders.value.map(({ displayName }: MailFolder) => displayName)).toContain('Inbox')

  const page = await client.api(`/users/${me.id}/messages`).select('subject,receivedDateTime').top(7).get()
  const messages: Message[] = []
  const iterator = new PageIterator(client, page, (message: Message) => messages.push(message) > 0)
  await iterator.iterate()
  expect(iterator.isComplete()).toBe(true)
  expect(messages.length).toBeGreaterThan(20)
  const times = messages.map(({ receivedDateTime }) => receivedDateTime ?? '')
  expect(times).toEqual(times.toSorted().toReversed())

  const [first] = messages
  const mime = await client
    .api(`/me/messages/${first?.id}/$value`)
    .responseType('text' as never)
    .get()
  expect(mime).toContain('Message-ID:')
})

test("walks a delta to its end with Microsoft's own iterator, and goes on from there", async () => {
  const client = await clientOf('eva@office.test')
  const inbox = await client.api('/me/mailFolders/inbox').get()
  const page = await client
    .api('/me/mailFolders/inbox/messages/delta')
    .header('Prefer', 'odata.maxpagesize=7')
    .select('subject')
    .get()
  const seen = new Set<string>()
  const iterator = new PageIterator(client, page, ({ id }: Message) => seen.add(id ?? '').size > 0)
  await iterator.iterate()
  expect(seen.size).toBe(inbox.totalItemCount)
  const link = iterator.getDeltaLink() ?? ''
  expect((await client.api(link).get()).value).toEqual([])
  const { world } = used.sandbox
  const message = Buffer.from('From: ada@gmail.test\r\nSubject: New\r\n\r\nHello')
  world.post.deliver(requireUser(world.users, 'eva@office.test'), { message, from: 'ada@gmail.test' })
  expect((await client.api(link).get()).value).toEqual([expect.objectContaining({ subject: 'New' })])

  const expired = await used.ask('POST', '/history/expire', { user: 'eva@office.test', at: 'delta' })
  expect(expired.status).toBe(204)
  await expect(client.api(link).get()).rejects.toMatchObject({ statusCode: 410, code: 'SyncStateNotFound' })
})

test('answers a batch, whose parts are calls of their own that faults refuse', async () => {
  const client = await clientOf('eva@office.test')
  await used.ask('POST', '/faults', { does: 'error', path: '/v1.0/me/mailFolders/archive', count: 1 })
  const { responses } = await client.api('/$batch').post({
    requests: [
      { id: '1', method: 'GET', url: '/me/mailFolders/inbox' },
      { id: '2', method: 'GET', url: '/me/mailFolders/archive' },
      { id: '3', method: 'GET', url: '/me/mailFolders/drafts', dependsOn: ['2'] },
    ],
  })
  const status = Object.fromEntries(
    responses.map((part: { id: string; status: number }) => [part.id, part.status]),
  )
  expect(status).toEqual({ 1: 200, 2: 503, 3: 424 })
  const calls = (await used.ask('GET', '/calls?host=graph.microsoft.com')).data.items
  expect(calls.map(({ path }: { path: string }) => path)).toEqual([
    '/v1.0/$batch',
    '/v1.0/me/mailFolders/inbox',
    '/v1.0/me/mailFolders/archive',
  ])
})

test('behaves as the control API sets it', async () => {
  const set = await used.ask('PATCH', '/graph', { arrivals: 'lost', repeats: 0.5 })
  expect(set).toMatchObject({ status: 200, data: { arrivals: 'lost', repeats: 0.5, sparse: 0 } })
  expect((await used.ask('PATCH', '/graph', { arrivals: 'sometimes' })).status).toBe(422)
})

test("makes errors that Microsoft's own client reads", async () => {
  const client = await clientOf('eva@office.test')
  const error = await client
    .api('/me/messages/AAkAnothing000000000000000000')
    .get()
    .catch((thrown: unknown) => thrown)
  expect(error).toBeInstanceOf(GraphError)
  expect(error).toMatchObject({
    statusCode: 404,
    code: 'ErrorItemNotFound',
    requestId: expect.stringMatching(/^[\da-f-]{36}$/),
  })
})

test('refuses tokens that are unknown, of another cloud, or without the permission', async () => {
  const grant = {
    provider: 'microsoft',
    user: 'hugo@agency.test',
    clientId: 'sandbox',
    scopes: ['Mail.Read'],
  }
  const { accessToken } = (await used.ask('POST', '/grants', grant)).data
  const read = (client: Client) => client.api('/me/messages').get()
  await expect(read(await clientOf('eva@office.test', [], 'nonsense'))).rejects.toMatchObject({
    statusCode: 401,
  })
  await expect(read(await clientOf('eva@office.test', [], accessToken))).rejects.toMatchObject({
    statusCode: 401,
  })
  await expect(read(await clientOf('eva@office.test', ['User.Read']))).rejects.toMatchObject({
    statusCode: 403,
    code: 'ErrorAccessDenied',
  })
})

test('opens the mailbox of another user to delegates with the permission alone', async () => {
  const read = async (user: string, scope: string) =>
    (await clientOf(user, [scope])).api('/users/desk@office.test/mailFolders/inbox').get()
  await expect(read('eva@office.test', 'Mail.Read')).rejects.toMatchObject({ statusCode: 403 })
  expect(await read('eva@office.test', 'Mail.Read.Shared')).toMatchObject({ displayName: 'Inbox' })
  await expect(read('finn@office.test', 'Mail.Read.Shared')).rejects.toMatchObject({ statusCode: 404 })
})
