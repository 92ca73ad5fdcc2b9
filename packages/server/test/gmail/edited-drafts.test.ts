import { expect, test } from 'vitest'
import { openIndex } from '../../src/providers/conformance/memory-index.ts'
import type { PageStep, SourceStep } from '../../src/providers/mail.ts'
import { letter, useMailboxes } from './arranged-mailbox.ts'
import type { GmailClient } from './gmail-client.ts'
import { tokensFor } from './reach-sandbox.ts'

const arrange = useMailboxes()

const RECORDS_PER_PAGE = 100

/** Edits a draft so that the former content is on the first page of the history, and the new one on the second. */
async function editAcrossPages(client: GmailClient, draftKey: string, otherId: string): Promise<void> {
  for (let records = 1; records < RECORDS_PER_PAGE; records += 1)
    await client.modify(otherId, records % 2 === 1 ? { add: ['STARRED'] } : { remove: ['STARRED'] })
  await client.updateDraft(draftKey, letter(2))
}

const arrivedIn = (steps: readonly SourceStep[]) =>
  steps
    .flatMap((step): ReadonlyArray<SourceStep | PageStep['steps'][number]> =>
      step.type === 'page' ? step.steps : [step],
    )
    .flatMap(part => (part.type === 'arrived' ? part.messages : []))

test('an edited draft stays the same one, however many newer drafts there are', async () => {
  await using arranged = await arrange()
  const { client } = arranged
  const draftKey = await client.createDraft(letter(1))
  const { id } = await client.insert(letter(3), ['INBOX'])
  await using account = arranged.connect()
  const index = openIndex('history')
  await index.follow(account.mail)
  const former = [...index.messages.values()].find(message => message.draftKey === draftKey)!
  await editAcrossPages(client, draftKey, id)
  const newer = Array.from({ length: 60 }, (_, number) => client.createDraft(letter(100 + number)))
  await Promise.all(newer)
  index.takeSteps()
  await arranged.takeCalls()

  await index.compare(account.mail)

  const [page] = index.takeSteps()
  if (page?.type !== 'page') throw new Error('No page')
  expect(page.steps).toMatchObject([
    { type: 'arrived', messages: [{ draftKey, subject: 'Letter 2' }] },
    { type: 'states' },
    { type: 'gone', keys: [former.key] },
  ])
  // The others come with the pages that report them.
  expect((await arranged.takeCalls()).filter(call => call.startsWith('GET drafts/'))).toHaveLength(1)
  expect(index.messages.size).toBe(62)
})

test('drafts from before the window are not asked for when something is deleted', async () => {
  await using arranged = await arrange()
  const { client } = arranged
  await client.createDraft(letter(1))
  const { id } = await client.insert(letter(2), ['INBOX'])
  await using account = arranged.connect()
  const index = openIndex('history')
  index.since = new Date(Date.now() + 3_600_000)
  await index.follow(account.mail)
  await client.delete(id)
  await arranged.takeCalls()
  await index.compare(account.mail)
  expect(index.messages.size).toBe(0)
  expect(await arranged.takeCalls()).toEqual(['GET history', 'GET drafts'])
})

test('an edited draft that is out of the window by now leaves the index', async () => {
  await using arranged = await arrange()
  const { client } = arranged
  const draftKey = await client.createDraft(letter(1))
  const { id } = await client.insert(letter(3), ['INBOX'])
  await using account = arranged.connect()
  const index = openIndex('history')
  await index.follow(account.mail)
  await editAcrossPages(client, draftKey, id)
  index.since = new Date(Date.now() + 3_600_000)
  index.takeSteps()
  await index.compare(account.mail)
  expect(arrivedIn(index.takeSteps())).toEqual([])
  expect([...index.messages.keys()]).toEqual([id])
})

test('a content that is replaced while it is fetched is never handed over', async () => {
  await using arranged = await arrange()
  const { client, server, email } = arranged
  let asks = Number.NEGATIVE_INFINITY
  let draftKey = ''
  // After the history and the message, before the list of drafts.
  const tokens = await tokensFor(server, email, async () => {
    if (++asks === 3) await client.updateDraft(draftKey, letter(2))
  })
  await using account = arranged.connect({ tokens })
  const index = openIndex('history')
  await index.follow(account.mail)
  draftKey = await client.createDraft(letter(1))
  index.takeSteps()
  asks = 0
  await index.compare(account.mail)
  await index.compare(account.mail)
  expect(asks).toBeGreaterThan(3)
  expect(arrivedIn(index.takeSteps())).toMatchObject([{ subject: 'Letter 2', draftKey }])
})
