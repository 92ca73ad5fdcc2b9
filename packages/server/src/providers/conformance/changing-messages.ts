import { describe, expect, test } from 'vitest'
import type { NewDraft, NewMessage } from '../changing.ts'
import { DRAFT_FIELD, draftMark } from '../draft-mark.ts'
import { type ChangingArrangement, letters } from './arrangement.ts'
import { failureOf, keyOf } from './changing-steps.ts'
import { byKey, openIndex } from './memory-index.ts'

const NO_FLAGS = { isRead: false, isFlagged: false, isDraft: false, categories: [] }

/** A message of this text; the stream comes in small pieces. */
function composed(raw: string, internetMessageId: string, change: Partial<NewMessage> = {}): NewMessage {
  const bytes = Buffer.from(raw)
  return {
    internetMessageId,
    byteLength: bytes.length,
    async *open() {
      for (let at = 0; at < bytes.length; at += 10_000) yield bytes.subarray(at, at + 10_000)
    },
    flags: NO_FLAGS,
    receivedAt: null,
    threadId: null,
    ...change,
  }
}

const UNKNOWN = { former: null, draftKey: null, others: [], copies: [] }
const DRAFT_ID = '0195d3c5-0000-7000-8000-000000000001'

/** Fields that some providers add to a message that lacks them. */
const WHOLE_HEADER = 'From: Ada Lovelace <ada@example.com>\r\nDate: Mon, 1 Jan 2024 10:00:00 +0000\r\n'
/** Flags of a message that every provider takes in. */
const OF_DRAFT = { ...NO_FLAGS, isDraft: true }

/** A content of one draft. */
export function draftOf(mailboxKey: string, generation: number): NewDraft & { raw: string } {
  const mark = { draftId: DRAFT_ID, generation }
  const raw = `${WHOLE_HEADER}Subject: Draft ${generation}\r\nMessage-ID: <draft@example.com>\r\n${DRAFT_FIELD}: ${draftMark(mark)}\r\n\r\nText ${generation}\r\n`
  const message = composed(raw, '<draft@example.com>', { flags: OF_DRAFT })
  return { mailboxKey, mark, message, raw }
}

/** Contract of `ChangingProvider` for added messages where any message is taken in, and not only drafts. */
export function describeAnyAddedMessage(name: string, setUp: () => Promise<ChangingArrangement>): void {
  describe(`${name}: added messages of every kind`, () => {
    test('are kept with their flags and their date', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Kept')
      await using account = await arranged.connect()
      const kept = await keyOf(arranged, account.mail, 'Kept')
      const raw = 'Subject: Kept\r\nMessage-ID: <kept@example.com>\r\n\r\nText\r\n'
      const flags = { isRead: true, isFlagged: true, isDraft: false, categories: ['two words'] }
      const receivedAt = new Date('2023-02-05T04:03:02Z')

      const added = await account.changing.addMessage(
        kept,
        composed(raw, '<kept@example.com>', { flags, receivedAt }),
      )

      const [held, ...more] = await arranged.held('Kept')
      expect(more).toEqual([])
      expect(held?.raw).toBe(raw)
      expect(added).toMatchObject({ location: { source: kept, key: held?.key }, mailboxKeys: [kept] })
      const index = openIndex(kept)
      await index.follow(account.mail)
      expect(added.location?.isValidUnder(index.cursor)).toBe(true)
      expect(index.messages.get(held!.key)).toMatchObject({ ...flags, receivedAt })
    })

    test('come with the cursor from which their mailbox can be followed, if nothing of it is indexed yet', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Kept')
      await arranged.world.deliver(letters(2), 'Kept')
      await using account = await arranged.connect()
      const kept = await keyOf(arranged, account.mail, 'Kept')
      const { location } = await account.changing.addMessage(
        kept,
        composed('Message-ID: <x@example.com>\r\n\r\nText\r\n', '<x@example.com>'),
      )
      await arranged.world.deliver(letters(1, 10), 'Kept')

      const index = openIndex(kept)
      index.cursor = location!.firstCursor
      expect(location!.isValidUnder(index.cursor)).toBe(true)
      expect(account.mail.isComplete(index.cursor, null)).toBe(false)
      await index.follow(account.mail)

      const held = (await arranged.held('Kept')).map(({ key }) => key)
      expect(index.keys()).toEqual(held.toSorted(byKey))
      expect(index.keys()).toContain(location!.key)
      expect(index.steps.map(({ type }) => type)).not.toContain('reset')
      expect(account.mail.isComplete(index.cursor, null)).toBe(true)
    })
  })
}

/** Contract of `ChangingProvider` for added messages, and for drafts. */
export function describeAddedMessages(name: string, setUp: () => Promise<ChangingArrangement>): void {
  describe(`${name}: added messages`, () => {
    test('are kept byte for byte, whatever their length', async () => {
      await using arranged = await setUp()
      await using account = await arranged.connect()
      const text = 'A line of the letter, as long as lines are.\r\n'.repeat(30_000)
      const raw = `${WHOLE_HEADER}Subject: Long\r\nMessage-ID: <long@example.com>\r\n\r\n${text}`
      const message = composed(raw, '<long@example.com>', { flags: OF_DRAFT })
      const added = await account.changing.addMessage(arranged.inbox, message)
      const [held, ...more] = await arranged.held('INBOX')
      expect(more).toEqual([])
      expect(held?.raw === raw).toBe(true)
      expect(held?.flags).toContain('\\Draft')
      expect(added).toMatchObject({ location: { key: held?.key }, mailboxKeys: [arranged.inbox] })
    })

    test.each([-1, 1])('are refused if their content is longer or shorter than announced (%i)', async off => {
      await using arranged = await setUp()
      await using account = await arranged.connect()
      const message = composed('Subject: x\r\n\r\nText\r\n', '<x@example.com>', { flags: OF_DRAFT })
      const adding = account.changing.addMessage(arranged.inbox, {
        ...message,
        byteLength: message.byteLength + off,
      })
      expect(await failureOf(adding)).toMatchObject({ isBeforeAcceptance: true })
      expect(await arranged.held('INBOX')).toEqual([])
    })

    test('fail with not_found if the mailbox is gone', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Gone')
      await using account = await arranged.connect()
      const gone = await keyOf(arranged, account.mail, 'Gone')
      await arranged.world.deleteMailbox('Gone')
      const message = composed('Subject: x\r\n\r\n', '<x@example.com>', { flags: OF_DRAFT })
      const adding = account.changing.addMessage(gone, message)
      expect(await failureOf(adding)).toMatchObject({ kind: 'not_found', isBeforeAcceptance: true })
    })

    test('are found by their exact Message-ID, with the requested fields', async () => {
      await using arranged = await setUp()
      const [first, second] = await arranged.world.deliver([
        { raw: 'Message-ID: <a@example.com>\r\nX-One: folded\r\n here\r\n\r\nText\r\n' },
        { raw: 'Message-ID:\r\n <a@example.com>\r\n\r\nText\r\n' },
        { raw: 'Message-ID: <aa@example.com>\r\n\r\n<a@example.com>\r\n' },
      ])
      await using account = await arranged.connect()
      const found = await account.changing.find(arranged.inbox, '<a@example.com>', ['X-One'])
      expect(found.map(({ location, fields }) => [location.key, fields.get('X-One')])).toEqual([
        [second, undefined],
        [first, 'folded here'],
      ])
      expect(await account.changing.find(arranged.inbox, '<b@example.com>')).toEqual([])
      // Later arrivals are found over the same connection.
      await arranged.world.deliver(letters(1))
      expect(await account.changing.find(arranged.inbox, '<letter-1@example.com>')).toHaveLength(1)
    })
  })

  describe(`${name}: drafts`, () => {
    test('are added once, however often it is tried', async () => {
      await using arranged = await setUp()
      await using account = await arranged.connect()
      const first = await account.changing.addDraft(draftOf(arranged.inbox, 1), true)
      const again = await account.changing.addDraft(draftOf(arranged.inbox, 1), true)
      expect(again.location?.key).toEqual(first.location?.key)
      const held = await arranged.held('INBOX')
      expect(held).toMatchObject([{ raw: draftOf(arranged.inbox, 1).raw }])
      expect(held[0]?.flags).toContain('\\Draft')
    })

    test('are replaced, and leave the messages of other clients', async () => {
      await using arranged = await setUp()
      await using account = await arranged.connect()
      const { changing } = account
      const theirs = 'Subject: Theirs\r\nMessage-ID: <draft@example.com>\r\n\r\nText\r\n'
      const [marked] = await arranged.world.deliver([{ raw: theirs }, ...letters(1)])
      await arranged.world.flag('INBOX', [marked!], '\\Deleted')
      await changing.addDraft(draftOf(arranged.inbox, 1), true)

      for (let times = 0; times < 2; times++) {
        const outcome = await changing.replaceDraft({ ...draftOf(arranged.inbox, 2), ...UNKNOWN })
        expect(outcome).toMatchObject({ type: 'replaced', isSettled: true })
      }

      const held = await arranged.held('INBOX')
      expect(held.map(({ raw }) => /^Subject: .*$/m.exec(raw)?.[0].trim())).toEqual([
        'Subject: Theirs',
        'Subject: Letter 1',
        'Subject: Draft 2',
      ])
      const stale = changing.replaceDraft({ ...draftOf(arranged.inbox, 1), ...UNKNOWN })
      expect(await failureOf(stale)).toMatchObject({ kind: 'conflict', isBeforeAcceptance: true })
    })

    test('replace content of another client, if that is the known content', async () => {
      await using arranged = await setUp()
      const raw = 'Subject: Theirs\r\nMessage-ID: <draft@example.com>\r\n\r\nText\r\n'
      const [key] = await arranged.world.deliver([{ raw }])
      await arranged.world.flag('INBOX', [key!], '\\Draft')
      const { source, cursor } = await arranged.index('INBOX')
      await using account = await arranged.connect()
      const former = { source, cursor, key: key! }
      const outcome = await account.changing.replaceDraft({
        ...draftOf(arranged.inbox, 1),
        ...UNKNOWN,
        former,
      })
      expect(outcome).toMatchObject({ type: 'replaced', isSettled: true })
      expect(await arranged.held('INBOX')).toMatchObject([{ raw: draftOf(arranged.inbox, 1).raw }])
    })

    test('keep the highest of the generations that an interruption left', async () => {
      await using arranged = await setUp()
      await using account = await arranged.connect()
      for (const generation of [3, 4, 2])
        await account.changing.addDraft(draftOf(arranged.inbox, generation), false)
      const [three, four, two] = (await arranged.held('INBOX')).map(({ key }) => key)
      await arranged.world.deliver(letters(1))
      const named = {
        mailboxKey: arranged.inbox,
        internetMessageId: '<draft@example.com>',
        draftId: DRAFT_ID,
        copies: [],
      }

      const settled = await account.changing.settleDraft(named)

      expect(settled).toMatchObject({
        kept: { generation: 4, location: { key: four } },
        removed: [three, two],
      })
      expect(await arranged.held('INBOX')).toHaveLength(2)
      const other = await account.changing.settleDraft({ ...named, draftId: 'other' })
      expect(other).toEqual({ kept: null, removed: [] })
    })
  })
}
