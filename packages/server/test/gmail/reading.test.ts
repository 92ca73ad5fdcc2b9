import { describe, expect, test } from 'vitest'
import { openIndex } from '../../src/providers/conformance/memory-index.ts'
import { QuotaGovernor } from '../../src/providers/google/governor.ts'
import type { Cursor, ListedPage, RemoteMessage } from '../../src/providers/mail.ts'
import { waitUntil } from '../wait-until.ts'
import { breakOff, expectSame, isFetch, letter, useMailboxes } from './arranged-mailbox.ts'

const arrange = useMailboxes()

const DAY_MS = 86_400_000

const subjects = (messages: Iterable<RemoteMessage>) => [...messages].map(({ subject }) => subject)

describe('mailboxes', () => {
  test('are labels with their parents and counts, and All Mail', async () => {
    await using arranged = await arrange()
    const { client } = arranged
    const work = await client.createLabel('Work')
    const deep = await client.createLabel('Work/2026/Invoices')
    await client.createLabel('No parent/Child')
    await client.insert(letter(1), [deep, 'UNREAD'])
    await using account = arranged.connect()
    const mailboxes = await account.mail.listMailboxes()
    const find = (path: string) => mailboxes.find(mailbox => mailbox.path === path)
    expect(find('Work/2026/Invoices')).toMatchObject({
      key: deep,
      name: '2026/Invoices',
      parentKey: work,
      kind: 'label',
      role: 'custom',
      totalCount: 1,
      unreadCount: 1,
    })
    expect(find('No parent/Child')).toMatchObject({ name: 'No parent/Child', parentKey: null })
    expect(find('All Mail')).toMatchObject({ role: 'all', totalCount: null })
    const roles = new Map(mailboxes.map(({ key, role }) => [key, role]))
    expect(['INBOX', 'SENT', 'DRAFT', 'TRASH', 'SPAM', 'IMPORTANT'].map(key => roles.get(key))).toEqual([
      'inbox',
      'sent',
      'drafts',
      'trash',
      'junk',
      'important',
    ])
    expect([...roles.keys()].some(key => /UNREAD|STARRED|CATEGORY|CHAT/.test(key))).toBe(false)
    for (const { key, parentKey } of mailboxes)
      if (parentKey !== null)
        expect([...roles.keys()].indexOf(parentKey)).toBeLessThan([...roles.keys()].indexOf(key))
  })

  test('are counted again only after something happened', async () => {
    await using arranged = await arrange(5)
    await using account = arranged.connect()
    await account.mail.listMailboxes()
    await arranged.takeCalls()
    await account.mail.listMailboxes()
    expect((await arranged.takeCalls()).toSorted()).toEqual(['GET labels', 'GET profile'])
  })
})

describe('following', () => {
  test('takes the cursor before it lists anything, and brings everything, newest first', async () => {
    await using arranged = await arrange(300)
    await using account = arranged.connect()
    const index = openIndex('history')
    expect(account.mail.isComplete(index.cursor, null)).toBe(false)
    await index.compare(account.mail)
    expect(index.takeSteps().map(({ type }) => type)).toEqual(['reset'])
    expect(await arranged.takeCalls()).toEqual(['GET profile'])
    await index.bring(account.mail, 1)
    const newest = [...index.messages.values()].map(({ receivedAt }) => receivedAt.getTime())
    await index.bring(account.mail)
    const all = [...index.messages.values()]
      .map(({ receivedAt }) => receivedAt.getTime())
      .toSorted((a, b) => b - a)
    // Threads are brought whole, so a few are older.
    expect(newest.filter(time => time < all[newest.length]!).length).toBeLessThan(newest.length / 3)
    expect(account.mail.isComplete(index.cursor, null)).toBe(true)
    await expectSame(index, arranged.client)
  })

  test('reads a message as it is', async () => {
    await using arranged = await arrange()
    const { client } = arranged
    const mixed =
      'MIME-Version: 1.0\r\nImportance: high\r\nContent-Type: multipart/mixed; boundary=x\r\n' +
      'References: <a@example.com> <b@example.com>\r\n'
    const parts =
      '--x\r\nContent-Type: text/plain\r\n\r\nTom &amp; Jerry <3\r\n--x\r\nContent-Type: application/pdf\r\n' +
      'Content-Disposition: attachment; filename=a.pdf\r\n\r\nPDF\r\n--x--\r\n'
    const { id, threadId } = await client.insert(letter(1, mixed) + parts, [
      'INBOX',
      'UNREAD',
      'CATEGORY_SOCIAL',
    ])
    await using account = arranged.connect()
    await account.mail.listMailboxes()
    const index = openIndex('history')
    await index.follow(account.mail)
    expect(index.messages.get(id)).toMatchObject({
      threadId,
      mailboxKeys: ['INBOX', 'ALL_MAIL'],
      subject: 'Letter 1',
      internetMessageId: '<letter-1@example.com>',
      references: ['<a@example.com>', '<b@example.com>'],
      from: { name: 'Lovelace, Ada', address: 'ada@example.com' },
      to: [{ name: 'Bob', address: 'bob@example.com' }],
      hasAttachments: true,
      importance: 'high',
      isRead: false,
      categories: ['social'],
      draftKey: null,
    })
  })

  test('can be broken off after any step, although others change what was fetched ahead', async () => {
    await using arranged = await arrange(400)
    const { client } = arranged
    await using account = arranged.connect()
    const index = openIndex('history')
    await index.compare(account.mail)
    const ids = (await client.messages()).map(({ id }) => id)
    let steps = 0
    for (let isDone = false; !isDone; steps += 1) {
      isDone = await index.bring(account.mail, 1)
      // Many of them are fetched by now, and not yet handed over.
      for (const id of ids.slice(steps * 40, steps * 40 + 160)) await client.modify(id, { add: ['STARRED'] })
      const deleted = ids.splice(steps * 40 + 100, 1)
      for (const id of deleted) await client.delete(id)
      await index.compare(account.mail)
    }
    expect(steps).toBeGreaterThan(2)
    await expectSame(index, client)
  })

  test('hands over again what was not recorded', async () => {
    await using arranged = await arrange(400)
    await using account = arranged.connect()
    const index = openIndex('history')
    await index.compare(account.mail)
    await arranged.takeCalls()
    for (let isDone = false; !isDone;) {
      await breakOff(account.mail, index)
      isDone = await index.bring(account.mail, 1)
    }
    await expectSame(index, arranged.client)
    // It goes on where it was: the ids are not listed again for each step.
    expect((await arranged.takeCalls()).filter(call => call === 'GET messages').length).toBeLessThan(4)
  })

  test('fetches a bounded number of messages while a step is recorded, and hands them over together', async () => {
    await using arranged = await arrange(800)
    await using account = arranged.connect()
    const index = openIndex('history')
    await index.compare(account.mail)
    await index.bring(account.mail, 1)
    const first = index.messages.size
    const fetched: string[] = []
    await waitUntil('fetches ahead', async () => {
      fetched.push(...(await arranged.takeCalls()).filter(isFetch))
      return fetched.length >= 350
    })
    await index.bring(account.mail, 1)
    expect(index.messages.size - first).toBeGreaterThan(100)
    expect(index.messages.size - first).toBeLessThanOrEqual(400)
    await index.bring(account.mail)
    await expectSame(index, arranged.client)
  })

  test('goes on after a restart with what the index lacks', async () => {
    await using arranged = await arrange(400)
    const index = openIndex('history')
    const fetched: string[] = []
    for (let isDone = false; !isDone;) {
      await using account = arranged.connect()
      await index.compare(account.mail)
      isDone = await index.bring(account.mail, 2)
      fetched.push(...(await arranged.takeCalls()).filter(isFetch))
    }
    await expectSame(index, arranged.client)
    // Only messages that were fetched ahead when a connection ended are fetched again.
    expect(fetched.length).toBeLessThan(1_000)
  })

  test('reads the window, what a longer one adds, and nothing when it gets shorter', async () => {
    await using arranged = await arrange()
    const { client, clock } = arranged
    for (const days of [1, 5, 20, 50])
      await client.insert(letter(days), ['INBOX'], new Date(clock.now - days * DAY_MS))
    await using account = arranged.connect()
    const { mail } = account
    const index = openIndex('history')
    const since = (days: number) => (index.since = new Date(clock.now - days * DAY_MS))
    since(10)
    await index.follow(mail)
    expect(subjects(index.messages.values())).toEqual(['Letter 1', 'Letter 5'])
    since(30)
    expect(mail.isComplete(index.cursor, index.since)).toBe(false)
    index.takeSteps()
    await index.follow(mail)
    expect(subjects(index.messages.values())).toEqual(['Letter 1', 'Letter 5', 'Letter 20'])
    expect(index.takeSteps()[0]).toMatchObject({ type: 'arrived', origin: 'widened' })
    index.cursor = mail.narrow(index.cursor!, since(2))
    expect(mail.isComplete(index.cursor, index.since)).toBe(true)
    index.messages.clear()
    since(30)
    await index.follow(mail)
    expect(subjects(index.messages.values())).toEqual(['Letter 5', 'Letter 20'])
  })

  test('reports nothing and asks for little if nothing happened', async () => {
    await using arranged = await arrange(20)
    await using account = arranged.connect()
    const index = openIndex('history')
    await index.follow(account.mail)
    index.takeSteps()
    await arranged.takeCalls()
    await index.follow(account.mail)
    expect(index.takeSteps()).toEqual([])
    expect(await arranged.takeCalls()).toEqual(['GET history'])
    const [mailbox] = await account.mail.listMailboxes()
    expect(account.mail.hasChanged(mailbox!, index.cursor)).toBe(false)
    await arranged.client.insert(letter(1), ['INBOX'])
    const [changed] = await account.mail.listMailboxes()
    expect(account.mail.hasChanged(changed!, index.cursor)).toBe(true)
  })

  test('takes an edited draft of another client for the same draft, also if a page ends in between', async () => {
    await using arranged = await arrange()
    const { client } = arranged
    await using account = arranged.connect()
    const index = openIndex('history')
    await index.follow(account.mail)
    const draftKey = await client.createDraft(letter(1))
    await index.compare(account.mail)
    const [before] = [...index.messages.values()]
    expect(before).toMatchObject({ isDraft: true, draftKey, subject: 'Letter 1' })
    index.takeSteps()
    await client.updateDraft(draftKey, letter(2))
    await index.compare(account.mail)
    const [page] = index.takeSteps()
    if (page?.type !== 'page') throw new Error('No page')
    expect(page.steps.map(({ type }) => type)).toEqual(['arrived', 'states', 'gone'])
    expect(page.steps[0]).toMatchObject({ messages: [{ draftKey, subject: 'Letter 2' }] })
    expect(page.steps[2]).toMatchObject({ keys: [before?.key], certainty: 'proof' })
  })

  test('pages through everything that there is, over several connections', async () => {
    await using arranged = await arrange(700)
    const index = openIndex('history')
    {
      await using account = arranged.connect()
      await index.follow(account.mail)
    }
    const listed = new Map<unknown, unknown>()
    let after: Cursor | null = null
    do {
      await using account = arranged.connect()
      await account.mail.listMailboxes()
      let page: ListedPage
      do {
        page = await account.mail.list(
          { source: 'history', cursor: index.cursor },
          { since: null, after, signal: new AbortController().signal },
        )
        after = page.next
      } while (after && page.messages.length === 0)
      for (const { key, flags, mailboxKeys } of page.messages)
        listed.set(key, { ...flags, mailboxKeys: mailboxKeys.toSorted() })
    } while (after)
    const held = [...index.messages.values()].map(
      ({ key, mailboxKeys, isRead, isFlagged, isDraft, categories }) =>
        [key, { isRead, isFlagged, isDraft, categories, mailboxKeys: mailboxKeys.toSorted() }] as const,
    )
    expect(listed).toEqual(new Map(held))
  })
})

test('a page of everything asks for no more changed messages than one batch holds', async () => {
  await using arranged = await arrange(700)
  const { client } = arranged
  await using account = arranged.connect()
  const index = openIndex('history')
  await index.follow(account.mail)
  const signal = new AbortController().signal
  const list = (after: Cursor | null) =>
    account.mail.list({ source: 'history', cursor: index.cursor }, { since: null, after, signal })
  const first = await list(null)
  const listed = new Set(first.messages.map(({ key }) => key))
  const rest = [...index.messages.keys()].filter(key => !listed.has(key))
  for (const key of rest.slice(0, 120)) await client.modify(String(key), { add: ['STARRED'] })
  await index.compare(account.mail)
  await arranged.takeCalls()
  for (let after = first.next; after;) {
    const page = await list(after)
    for (const { key } of page.messages) listed.add(key)
    const asked = (await arranged.takeCalls()).filter(call => call.startsWith('GET messages/'))
    expect(asked.length).toBeLessThanOrEqual(50)
    after = page.next
  }
  expect(listed).toEqual(new Set(index.messages.keys()))
})

test('sources are fetched a few at a time', async () => {
  await using arranged = await arrange(30)
  await using account = arranged.connect({ takesSources: true })
  const index = openIndex('history')
  await index.follow(account.mail)
  const steps = index.takeSteps().filter(step => step.type === 'arrived')
  expect(Math.max(...steps.map(({ messages }) => messages.length))).toBe(10)
  await expectSame(index, arranged.client)
})

test('background work leaves a part of the quota to prompt calls, and reports how long the rest takes', async () => {
  await using arranged = await arrange(300)
  const governor = new QuotaGovernor({
    userUnitsPerMinute: 2_000,
    projectUnitsPerMinute: 1e9,
    now: () => 1_000_000,
  })
  await using account = arranged.connect({ quota: governor.userOf('p', 'u') })
  const index = openIndex('history')
  await index.compare(account.mail)
  const stopped = index.bring(account.mail)
  await expect(stopped).rejects.toMatchObject({ kind: 'throttled', isBusy: true, isBeforeAcceptance: true })
  await stopped.catch(() => {})
  const steps = index.takeSteps().filter(step => step.type === 'arrived')
  expect(steps.at(-1)!.remaining).toBeGreaterThan(100)
  expect(steps.at(-1)!.remainingSeconds).toBeGreaterThan(60)
  const [key] = [...index.messages.keys()]
  expect((await account.mail.locate(null, [key!])).found.size).toBe(1)
})

test('threads for which the quota had no room are still fetched whole', async () => {
  await using arranged = await arrange(300)
  let now = 1_000_000
  const governor = new QuotaGovernor({
    userUnitsPerMinute: 2_000,
    projectUnitsPerMinute: 1e9,
    now: () => now,
  })
  await using account = arranged.connect({ quota: governor.userOf('p', 'u') })
  const index = openIndex('history')
  await index.compare(account.mail)
  let refusals = 0
  for (let isDone = false; !isDone; now += 120_000) {
    isDone = await index.bring(account.mail).catch((error: unknown) => {
      expect(error).toMatchObject({ kind: 'throttled' })
      refusals += 1
      return false
    })
  }
  expect(refusals).toBeGreaterThan(2)
  const calls = await arranged.takeCalls()
  const threads = Map.groupBy(await arranged.client.messages(), ({ threadId }) => threadId)
  const least = [...threads.values()].reduce((sum, { length }) => sum + Math.min(length * 20, 40), 0)
  const paid = calls.filter(isFetch).reduce((sum, call) => sum + (call.includes('threads/') ? 40 : 20), 0)
  expect(paid).toBeLessThanOrEqual(least * 1.05)
})

test('refuses nothing for a token that has ended, and gives up when a new one is refused too', async () => {
  await using arranged = await arrange(3)
  await using account = arranged.connect()
  await arranged.server.addFault({ does: 'unauthorized', host: 'gmail.googleapis.com', count: 1 })
  expect((await account.mail.listMailboxes()).length).toBeGreaterThan(5)
  await arranged.server.addFault({ does: 'unauthorized', host: 'gmail.googleapis.com' })
  await expect(account.mail.listMailboxes()).rejects.toMatchObject({ kind: 'access_refused' })
  await arranged.server.clearFaults()
})
