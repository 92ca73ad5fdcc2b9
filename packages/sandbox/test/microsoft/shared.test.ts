import { describe, expect, test } from 'vitest'
import { CLOUD_USERS, useMicrosoft } from './use-microsoft.ts'

const used = useMicrosoft()
const GRAPH = 'graph.microsoft.com'
const EVA = 'eva@office.test'
const DESK = 'desk@office.test'
const SHARED = ['User.Read', 'Mail.ReadWrite', 'Mail.ReadWrite.Shared', 'Mail.Send.Shared']

const tokenOf = async (user: string, scopes: readonly string[] = SHARED): Promise<string> =>
  (await used.ask('POST', '/grants', { user, clientId: 'sandbox', scopes })).data.accessToken

const inbox = (of: string, token: string, graph: string = GRAPH) =>
  used.get(graph, `/v1.0/users/${of}/mailFolders/inbox`, token)

describe.each(CLOUD_USERS)('a shared mailbox in $cloud', ({ cloud, graph, user }) => {
  test('is open to its delegate, beside the own one', async () => {
    const email = `team@${user.split('@')[1]}`
    const shared = { email, provider: 'microsoft', cloud, delegates: [user.toUpperCase()] }
    expect((await used.ask('POST', '/users', shared)).status).toBe(201)
    const body = 'Subject: For the team\r\n\r\nHi\r\n'
    await fetch(`${used.sandbox.controlUrl}/users/${email}/messages`, { method: 'POST', body })
    const token = await tokenOf(user)
    const found = await inbox(email, token, graph)
    expect([found.status, found.data.totalItemCount]).toEqual([200, 1])
    const own = await inbox(user, token, graph)
    expect([own.status, own.data.id === found.data.id]).toEqual([200, false])
  })
})

test('the same inbox is found by the address and the id of its owner', async () => {
  const token = await tokenOf(EVA)
  const { data: added } = await used.ask('PATCH', `/users/${DESK}`, {})
  const [byAddress, byId, keyed] = [
    await inbox(DESK, token),
    await inbox(added.id, token),
    await used.get(GRAPH, `/v1.0/users('${DESK}')/mailFolders/inbox`, token),
  ]
  expect(byId.data.id).toBe(byAddress.data.id)
  expect(keyed.data.id).toBe(byAddress.data.id)
})

test.each([
  ['whose scopes lack `.Shared`', EVA, DESK, ['Mail.ReadWrite'], 403, 'ErrorAccessDenied'],
  ['who is no delegate', EVA, 'finn@office.test', SHARED, 404, 'ErrorItemNotFound'],
  ['of an unknown address', EVA, 'nobody@office.test', SHARED, 404, 'ErrorInvalidUser'],
  ['of another organization', EVA, 'una@elsewhere.test', SHARED, 404, 'ErrorInvalidUser'],
  ['of a person', EVA, 'greta@outlook.test', SHARED, 404, 'ErrorInvalidUser'],
  ['of another cloud', EVA, 'jun@shanghai.test', SHARED, 404, 'ErrorInvalidUser'],
])('a mailbox is refused to a caller %s', async (_, user, of, scopes, status, code) => {
  await used.ask('POST', '/users', {
    email: 'una@elsewhere.test',
    provider: 'microsoft',
    delegates: [EVA],
  })
  const refused = await inbox(of, await tokenOf(user, scopes))
  expect([refused.status, refused.data.error.code]).toEqual([status, code])
})

test('access is lost to one mailbox, and given again, while others stay open', async () => {
  const token = await tokenOf(EVA)
  await used.ask('POST', '/users', { email: 'team@office.test', provider: 'microsoft', delegates: [EVA] })
  const statuses = async () => [
    (await inbox(DESK, token)).status,
    (await inbox('team@office.test', token)).status,
    (await inbox(EVA, token)).status,
  ]
  expect(await statuses()).toEqual([200, 200, 200])
  await used.ask('PATCH', `/users/${DESK}`, { delegates: [] })
  expect(await statuses()).toEqual([404, 200, 200])
  await used.ask('PATCH', `/users/${DESK}`, { delegates: [EVA], suspended: true })
  expect(await statuses()).toEqual([404, 200, 200])
  await used.ask('PATCH', `/users/${DESK}`, { suspended: false })
  expect(await statuses()).toEqual([200, 200, 200])
})

test('a shared mailbox has a profile for those who may read the profiles of others', async () => {
  const basic = await tokenOf(EVA)
  const refused = await used.get(GRAPH, `/v1.0/users/${DESK}`, basic)
  expect([refused.status, refused.data.error.code]).toEqual([403, 'Authorization_RequestDenied'])
  const token = await tokenOf(EVA, ['User.ReadBasic.All'])
  const { data } = await used.get(GRAPH, `/v1.0/users/${DESK}?$select=displayName,mail`, token)
  expect(data).toEqual({
    '@odata.context': 'https://graph.microsoft.com/v1.0/$metadata#users(displayName,mail)/$entity',
    displayName: 'Front Desk',
    mail: DESK,
  })
  const unknown = await used.get(GRAPH, '/v1.0/users/nobody@office.test', token)
  expect([unknown.status, unknown.data.error.code]).toEqual([404, 'Request_ResourceNotFound'])
  const wrong = await used.get(GRAPH, '/v1.0/me?$select=nonsense', token)
  expect([wrong.status, wrong.data.error.code]).toEqual([400, 'BadRequest'])
})
