import { describe, expect, test } from 'vitest'
import type { FeedEvent } from '../sync/followed-account.ts'
import { useServer } from '../servers/shared-server.ts'
import { waitUntil } from '../wait-until.ts'
import { connectGraph, type GraphAccount, openGraphApp } from './open-graph-app.ts'
import { indexed, truth } from './two-views.ts'

const opened = useServer(() => openGraphApp())

const deliver = (account: GraphAccount, subject: string) =>
  opened().sandbox.deliver(
    account.email,
    `From: Grace <grace@example.com>\r\nTo: me@office.test\r\nSubject: ${subject}\r\n\r\nHello\r\n`,
  )

const toBeEqual = (account: GraphAccount) =>
  waitUntil('the index to have what the provider has', async () => {
    const [have, want] = [await indexed(opened(), account), await truth(account)]
    return have.join('\n') === want.join('\n')
  })

const announced = (events: readonly FeedEvent[]) =>
  events
    .filter(({ type }) => type.startsWith('message.'))
    .map(({ type, data }) => `${type} ${data.message?.subject ?? ''}`)
    .toSorted()

describe('an account of Graph', () => {
  test('whose links have expired announces what is new, and nothing that is known (C13)', async () => {
    const account = await connectGraph(opened(), { messages: 60 })
    const folder = await account.client.createFolder('Kept')
    const known = await account.client.all('mailFolders/inbox/messages?$select=id,subject&$top=5')
    for (const [nth, { id }] of known.slice(0, 3).entries()) {
      await opened().sandbox.expireHistory(account.email, 'delta')
      await deliver(account, `New ${nth}`)
      await account.client.move([id], folder)
      await toBeEqual(account)
    }
    const refused = await opened().sandbox.calls({ host: 'graph.microsoft.com', user: account.email })
    expect(refused.items.filter(({ status }) => status === 410).length).toBeGreaterThan(0)
    await waitUntil('all to be announced', async () => announced(await account.feed()).length >= 6)
    expect(announced(await account.feed())).toEqual(
      [
        ...known.slice(0, 3).map(({ subject }) => `message.updated ${subject}`),
        ...[0, 1, 2].map(nth => `message.created New ${nth}`),
      ].toSorted(),
    )
  })

  test('whose links expire within the first walk has each message once (C13)', async () => {
    const { app, sandbox } = opened()
    const rounds = { host: 'graph.microsoft.com', path: '/v1.0/users/*/messages/delta' }
    const connecting = connectGraph(opened(), {
      messages: 1_600,
      // The pages of the inbox take long enough to be seen under way.
      arrange: async client => {
        const { id } = await client.ask('GET', 'mailFolders/inbox?$select=id')
        const path = `/v1.0/users/*/mailFolders/${encodeURIComponent(id)}/messages/delta`
        await sandbox.addFault({ ...rounds, path, does: 'slow', milliseconds: 1_500 })
      },
    })
    const email = await waitUntil('a page within a round', async () => {
      const { items } = await sandbox.calls(rounds)
      const isWithin = items.some(({ query, status }) => status === null && /skiptoken/i.test(query))
      return isWithin ? (items.findLast(({ user }) => user !== null)?.user ?? null) : null
    })
    await sandbox.expireHistory(email, 'next')
    await sandbox.clearFaults()
    const account = await connecting
    await toBeEqual(account)
    const { items } = await sandbox.calls({ host: 'graph.microsoft.com', user: account.email })
    expect(items.filter(({ status }) => status === 410).length).toBeGreaterThan(0)
    expect(announced(await account.feed())).toEqual([])
    const ofAccount = app.logLines.filter(line => line.includes(account.accountId))
    expect(ofAccount.filter(line => line.includes('The provider failed'))).toEqual([])
  })

  test('whose messages are moved away and back, which Graph does not report, keeps them and their ids (C14)', async () => {
    const { sandbox } = opened()
    const account = await connectGraph(opened(), { messages: 20 })
    await sandbox.control('PATCH', '/graph', { arrivals: 'lost' })
    try {
      const before = await account.messages()
      const folder = await account.client.createFolder('Away')
      const inbox = await account.client.ask('GET', 'mailFolders/inbox?$select=id')
      const ids = (await account.client.all('mailFolders/inbox/messages?$select=id&$top=5')).map(
        ({ id }) => id,
      )
      await account.client.move(ids, folder)
      await toBeEqual(account)
      await account.client.move(ids, inbox.id)
      await toBeEqual(account)
      const after = await account.messages()
      expect(after.map(({ id }) => id).toSorted()).toEqual(before.map(({ id }) => id).toSorted())
      expect(announced(await account.feed()).filter(line => !line.startsWith('message.updated'))).toEqual([])
    } finally {
      await sandbox.control('PATCH', '/graph', { arrivals: 'told' })
    }
  })

  test('whose notices are lost, and come three times, announces each message once (C16)', async () => {
    const { sandbox } = opened()
    const account = await connectGraph(opened(), { messages: 3 })
    const pushes = (settings: Record<string, unknown>) =>
      sandbox.control('PATCH', '/pushes', { provider: 'microsoft', ...settings })
    try {
      await pushes({ drop: 1 })
      for (let nth = 0; nth < 5; nth++) await deliver(account, `Lost ${nth}`)
      await toBeEqual(account)
      await pushes({ drop: 0, copies: 3 })
      for (let nth = 0; nth < 5; nth++) await deliver(account, `Tripled ${nth}`)
      await toBeEqual(account)
    } finally {
      await pushes({ drop: 0, copies: 1 })
    }
    const each = ['Lost', 'Tripled'].flatMap(word =>
      [0, 1, 2, 3, 4].map(nth => `message.created ${word} ${nth}`),
    )
    await waitUntil('all to be announced', async () => announced(await account.feed()).length >= each.length)
    expect(announced(await account.feed())).toEqual(each.toSorted())
  })
})
