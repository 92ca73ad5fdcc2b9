import type { MessageSummary } from '@waxwing/contract/mail/messages.ts'
import type { Mailbox } from '@waxwing/contract/mail/mailboxes.ts'
import { reasons, type Reason } from '@waxwing/contract/reasons.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { CLOUDS } from '../../src/providers/microsoft/clouds.ts'
import type { Cloud } from '../../src/providers/sign-in.ts'
import { useServer } from '../servers/shared-server.ts'
import { readMailboxes } from '../sync/followed-account.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGraph, type GraphAccount, openGraphApp } from './open-graph-app.ts'
import { casesFor } from '../soak.ts'

const opened = useServer(() => openGraphApp())

const refusal = (code: Reason) => ({ status: reasons[code].status, body: { code, defined: true } })

const WALKED_CLOUDS = casesFor(['global', 'china'] as const, cloud => cloud === 'china')

describe.each(WALKED_CLOUDS)('an account in the cloud %s', (cloud: Cloud) => {
  let account: GraphAccount
  let path: string
  let mailboxes: Mailbox[]
  let message: MessageSummary
  beforeAll(async () => {
    account = await connectGraph(opened(), {
      cloud,
      messages: 1,
      arrange: client => client.createFolder('Own'),
    })
    path = `/v1/accounts/${account.accountId}`
    mailboxes = await readMailboxes(opened().app, account.accountId)
    message = (await account.messages())[0]!
  })
  const own = () => mailboxes.find(({ name }) => name === 'Own')!

  test('has folders of roles, which are protected', async () => {
    const { app } = opened()
    const fixed = mailboxes.filter(({ role }) => role !== 'custom')
    expect(fixed.map(({ role }) => role).toSorted()).toEqual(
      ['archive', 'drafts', 'inbox', 'junk', 'sent', 'trash'].toSorted(),
    )
    for (const { id } of fixed) {
      for (const change of [{ name: 'Other' }, { parentId: own().id }])
        expect(await app.patch(`${path}/mailboxes/${id}`, change)).toMatchObject(refusal('mailbox_protected'))
      expect(await app.delete(`${path}/mailboxes/${id}`)).toMatchObject(refusal('mailbox_protected'))
    }
    expect(await readMailboxes(app, account.accountId)).toEqual(mailboxes)
  })

  test('has no labels, which could be added or taken off', async () => {
    for (const change of [{ addMailboxIds: [own().id] }, { removeMailboxIds: [own().id] }])
      expect(await opened().app.patch(`${path}/messages/${message.id}`, change)).toMatchObject(
        refusal('mailbox_not_label'),
      )
  })

  test('takes no folder of a name that is there', async () => {
    expect(await opened().app.post(`${path}/mailboxes`, { name: 'own' })).toMatchObject(
      refusal('provider_conflict'),
    )
    expect(await opened().app.post(`${path}/mailboxes`, { name: 'a/b' })).toMatchObject(
      refusal('invalid_input'),
    )
  })

  test.each<[code: Reason, fault: Record<string, unknown>]>([
    ['provider_rejected', { does: 'error', status: 400 }],
    ['provider_forbidden', { does: 'error', status: 403 }],
    ['provider_not_found', { does: 'error', status: 404 }],
    ['provider_conflict', { does: 'error', status: 412 }],
    ['provider_unavailable', { does: 'error', status: 503 }],
    ['provider_throttled', { does: 'rate_limit', retryAfterSeconds: 1 }],
  ])('passes on %s, and takes the change afterwards: %o', async (code, fault) => {
    const { app, sandbox } = opened()
    const place = { host: CLOUDS[cloud].graph, method: 'PATCH', path: '/v1.0/users/*/mailFolders/*' }
    await sandbox.addFault({ ...fault, ...place })
    const name = `Own ${code}`
    const change = () => app.patch(`${path}/mailboxes/${own().id}`, { name })
    const refused = await change()
    await sandbox.clearFaults()
    expect(refused).toMatchObject(refusal(code))
    // After 429 the mailbox is left alone for the time that Graph asked for.
    await waitUntil('the change to be taken', async () => (await change()).status === 200)
    const folders = await account.client.all('mailFolders?$select=displayName')
    const names = folders.map(({ displayName }) => displayName)
    expect(names.filter(one => one.startsWith('Own'))).toEqual([name])
  })
})

const CLOUDS_OF_AGENCIES = casesFor(['gcc-high', 'dod'] as const, cloud => cloud === 'dod')

describe.each(CLOUDS_OF_AGENCIES)('an account in the cloud %s', (cloud: Cloud) => {
  test('takes no file that needs an upload session, and makes nothing of it', async () => {
    const { app } = opened()
    const account = await connectGraph(opened(), { cloud })
    const path = `/v1/accounts/${account.accountId}`
    const written = (bytes: number) => ({
      to: [{ address: 'grace@example.com' }],
      subject: 'Files',
      attachments: [
        {
          filename: 'a.pdf',
          contentType: 'application/pdf',
          content: Buffer.alloc(bytes, 'a').toString('base64'),
        },
      ],
    })
    const tooLarge = refusal('attachments_too_large')
    const { body: draft } = await app.post<{ id: string }>(`${path}/drafts`, written(10))
    expect(await app.post(`${path}/outbox`, written(3_000_001))).toMatchObject(tooLarge)
    expect(await app.post(`${path}/drafts`, written(3_000_001))).toMatchObject(tooLarge)
    expect(await app.put(`${path}/drafts/${draft.id}`, written(3_000_001))).toMatchObject(tooLarge)
    expect((await app.get<{ items: unknown[] }>(`${path}/outbox`)).body.items).toEqual([])
    expect(await account.client.all('mailFolders/drafts/messages?$select=id')).toHaveLength(1)
    expect((await app.put(`${path}/drafts/${draft.id}`, written(3_000_000))).status).toBe(200)
  })
})
