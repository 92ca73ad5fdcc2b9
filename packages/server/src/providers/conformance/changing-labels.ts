import { describe, expect, test } from 'vitest'
import type { NewMessage } from '../changing.ts'
import type { ConnectedAccount, Offering } from '../connected-account.ts'
import { DRAFT_FIELD, draftMark } from '../draft-mark.ts'
import type { MailProvider, MessageKey } from '../mail.ts'
import { letter } from './arrangement.ts'
import { all, failureOf } from './changing-steps.ts'

/** One account whose mailboxes are labels, and another client of it. Labels are given by their whole names. */
export interface LabelArrangement extends AsyncDisposable {
  connect(): Promise<ConnectedAccount & Offering<'mail' | 'changing'>>
  /** Adds a message with these labels; `INBOX` and the other names of the provider's own labels as they are. */
  deliver(raw: string, ...labels: string[]): Promise<MessageKey>
  /** All labels that a message has, sorted; null if there is no such message. */
  labelsOf(key: MessageKey): Promise<string[] | null>
  rawOf(key: MessageKey): Promise<string>
  createLabel(name: string): Promise<void>
  /** Names of the user's labels, sorted. */
  labels(): Promise<string[]>
  delete(key: MessageKey): Promise<void>
  /** The drafts of the account, by the provider's id, with their subjects. */
  drafts(): Promise<Map<string, string>>
  editDraft(id: string, raw: string): Promise<void>
  /** Makes the next request of this method and path fail after it was carried out. */
  loseAnswer(method: string, path: string): Promise<void>
}

const NO_FLAGS = { isRead: true, isFlagged: false, isDraft: true, categories: [] }
const DRAFT_ID = '0195d3c5-0000-7000-8000-000000000001'

function draftOf(mailboxKey: string, generation: number, threadId: string | null = null, extra = '') {
  const mark = { draftId: DRAFT_ID, generation }
  const raw = `From: me@gmail.test\r\nTo: bob@example.com\r\nSubject: Draft\r\nMessage-ID: <draft@example.com>\r\n${DRAFT_FIELD}: ${draftMark(mark)}\r\n${extra}\r\nText ${generation}\r\n`
  const message: NewMessage = {
    internetMessageId: '<draft@example.com>',
    byteLength: Buffer.byteLength(raw),
    async *open() {
      yield Buffer.from(raw)
    },
    flags: NO_FLAGS,
    receivedAt: null,
    threadId,
  }
  return { mailboxKey, mark, message, raw }
}

async function mailboxOf(mail: MailProvider, path: string) {
  const mailboxes = await mail.listMailboxes()
  const found = mailboxes.find(mailbox => mailbox.path === path)
  if (!found?.source)
    throw new Error(`${path} is not listed: ${mailboxes.map(mailbox => mailbox.path).join(', ')}`)
  return { ...found, source: found.source }
}

/** Contract of every `ChangingProvider` whose mailboxes are labels. */
export function describeLabelChanging(name: string, setUp: () => Promise<LabelArrangement>): void {
  const arrange = async (
    work: (
      arranged: LabelArrangement,
      account: Awaited<ReturnType<LabelArrangement['connect']>>,
    ) => Promise<void>,
  ) => {
    await using arranged = await setUp()
    await using account = await arranged.connect()
    await work(arranged, account)
  }
  const setOf = async (mail: MailProvider, ...keys: MessageKey[]) => ({
    source: (await mailboxOf(mail, 'INBOX')).source,
    cursor: null,
    keys,
  })
  const first = <T>(batches: T[]): T => batches[0]!

  describe(`${name}: labels on messages`, () => {
    test('are flags and categories, added and removed singly', () =>
      arrange(async (arranged, { mail, changing }) => {
        const key = await arranged.deliver(letter(1), 'INBOX', 'UNREAD', 'CATEGORY_SOCIAL')
        const at = await setOf(mail, key)
        const { changed, gone } = first(
          await all(changing.changeFlags(at, { isRead: true, isFlagged: true, addCategories: ['updates'] })),
        )
        expect(gone).toEqual([])
        expect(changed).toMatchObject([
          {
            key,
            flags: { isRead: true, isFlagged: true, isDraft: false, categories: ['social', 'updates'] },
          },
        ])
        await all(changing.changeFlags(at, { isRead: false, isFlagged: false, removeCategories: ['social'] }))
        expect(await arranged.labelsOf(key)).toEqual(['CATEGORY_UPDATES', 'INBOX', 'UNREAD'])
        const unknown = failureOf(all(changing.changeFlags(at, { addCategories: ['work'] })))
        expect(await unknown).toMatchObject({ kind: 'unsupported', isBeforeAcceptance: true })
      }))

    test('are changed without a request if the provider cannot keep the mark', () =>
      arrange(async (arranged, { mail, changing }) => {
        const at = await setOf(mail, await arranged.deliver(letter(1), 'INBOX'))
        expect(await all(changing.changeFlags(at, { isAnswered: true, isForwarded: true }))).toEqual([])
      }))

    test('name the messages of a large set that are gone', () =>
      arrange(async (arranged, { mail, changing }) => {
        const keys: MessageKey[] = []
        for (let count = 0; count < 120; count++)
          keys.push(await arranged.deliver(letter(count), 'INBOX', 'UNREAD'))
        const gone = keys.filter((_, index) => index % 40 === 7)
        for (const key of gone) await arranged.delete(key)
        const batches = await all(changing.changeFlags(await setOf(mail, ...keys), { isRead: true }))
        expect(batches.flatMap(batch => batch.gone)).toEqual(gone)
        const changed = batches.flatMap(batch => batch.changed)
        expect(changed.map(({ key }) => key)).toEqual(keys.filter(key => !gone.includes(key)))
        expect(changed.every(({ flags }) => flags.isRead)).toBe(true)
      }))

    test('are added and removed, and leave the others', () =>
      arrange(async (arranged, { mail, changing }) => {
        for (const label of ['One', 'Two']) await arranged.createLabel(label)
        const key = await arranged.deliver(letter(1), 'INBOX', 'One', 'STARRED')
        const [one, two] = [await mailboxOf(mail, 'One'), await mailboxOf(mail, 'Two')]
        const at = await setOf(mail, key)
        const { changed } = first(
          await all(changing.changeLabels(at, { add: [two.key], remove: [one.key, 'INBOX'] })),
        )
        expect(await arranged.labelsOf(key)).toEqual(['STARRED', 'Two'])
        const all_ = await mailboxOf(mail, 'All Mail')
        expect(changed[0]?.mailboxKeys?.toSorted()).toEqual([all_.key, two.key].toSorted())
        for (const fixed of [all_.key, 'SENT', 'DRAFT']) {
          const failure = await failureOf(all(changing.changeLabels(at, { add: [fixed], remove: [] })))
          expect(failure).toMatchObject({ kind: 'rejected', isBeforeAcceptance: true })
        }
        const missing = failureOf(all(changing.changeLabels(at, { add: ['Label_none'], remove: [] })))
        expect(await missing).toMatchObject({ kind: 'not_found', isBeforeAcceptance: true })
      }))

    test('that act as folders are replaced by a move, and others are kept', () =>
      arrange(async (arranged, { mail, changing }) => {
        for (const label of ['One', 'Two']) await arranged.createLabel(label)
        const target = await mailboxOf(mail, 'Two')
        const key = await arranged.deliver(
          letter(1),
          'INBOX',
          'One',
          'STARRED',
          'IMPORTANT',
          'CATEGORY_SOCIAL',
        )
        const kept = ['CATEGORY_SOCIAL', 'IMPORTANT', 'STARRED']
        const at = await setOf(mail, key)
        const { moved } = first(await all(changing.move(at, target.key)))
        expect(moved[0]?.location).toMatchObject({ source: target.source, key })
        expect(moved[0]?.location?.isValidUnder(null)).toBe(true)
        expect(moved[0]?.mailboxKeys).toContain(target.key)
        expect(await arranged.labelsOf(key)).toEqual([...kept, 'Two'])

        const everything = await mailboxOf(mail, 'All Mail')
        const archived = first(await all(changing.move(at, everything.key)))
        expect(archived.moved[0]?.mailboxKeys).toContain(everything.key)
        expect(await arranged.labelsOf(key)).toEqual(kept)
        const trashed = first(await all(changing.move(at, 'TRASH')))
        expect(trashed.moved[0]?.mailboxKeys).not.toContain(everything.key)
        await all(changing.move(at, 'INBOX'))
        expect(await arranged.labelsOf(key)).toEqual(['CATEGORY_SOCIAL', 'IMPORTANT', 'INBOX', 'STARRED'])
      }))

    test('are replaced by a move also if an account has more than one request can name', () =>
      arrange(async (arranged, { mail, changing }) => {
        for (let count = 0; count < 105; count++) await arranged.createLabel(`Label ${count}`)
        const [held, bare] = [
          await arranged.deliver(letter(1), 'Label 3', 'Label 104'),
          await arranged.deliver(letter(2)),
        ]
        const target = await mailboxOf(mail, 'Label 50')
        const at = await setOf(mail, held, bare)
        await all(changing.move(at, target.key))
        expect([await arranged.labelsOf(held), await arranged.labelsOf(bare)]).toEqual([
          ['Label 50'],
          ['Label 50'],
        ])
        const everything = await mailboxOf(mail, 'All Mail')
        const twice = [
          ...(await all(changing.move(at, everything.key))),
          ...(await all(changing.move(at, everything.key))),
        ]
        expect(twice.flatMap(({ moved }) => moved).map(({ key }) => key)).toEqual([held, bare, held, bare])
        expect(await arranged.labelsOf(held)).toEqual([])
      }))

    test('go with messages that are removed for good, and removing may be repeated', () =>
      arrange(async (arranged, { mail, changing }) => {
        const [one, two] = [
          await arranged.deliver(letter(1), 'INBOX'),
          await arranged.deliver(letter(2), 'INBOX'),
        ]
        const at = await setOf(mail, one)
        expect(await all(changing.remove(at))).toEqual([{ removed: [one], gone: [] }])
        expect(await all(changing.remove(at))).toEqual([{ removed: [], gone: [one] }])
        expect(await arranged.labelsOf(two)).toEqual(['INBOX'])
      }))
  })

  describe(`${name}: labels as mailboxes`, () => {
    test('are created below others, once', () =>
      arrange(async (arranged, { mail, changing }) => {
        const made = await changing.createMailbox({ parentKey: null, name: 'Größer', mayExist: false })
        expect(made).toMatchObject({ name: 'Größer', path: 'Größer', role: 'custom', kind: 'label' })
        const below = await changing.createMailbox({ parentKey: made.key, name: 'a/b', mayExist: false })
        expect(below).toMatchObject({ name: 'a/b', path: 'Größer/a/b', parentKey: made.key })
        const again = { parentKey: null, name: 'Größer', mayExist: false }
        expect(await failureOf(changing.createMailbox(again))).toMatchObject({
          kind: 'conflict',
          isBeforeAcceptance: true,
        })
        expect(await changing.createMailbox({ ...again, mayExist: true })).toMatchObject({ key: made.key })
        for (const refused of [
          { name: 'x'.repeat(226) },
          { name: 'a//b' },
          { name: 'x', parentKey: 'INBOX' },
        ])
          expect(
            await failureOf(changing.createMailbox({ parentKey: null, mayExist: false, ...refused })),
          ).toMatchObject({
            kind: 'rejected',
            isBeforeAcceptance: true,
          })
        expect((await mail.listMailboxes()).map(({ key }) => key)).toEqual(
          expect.arrayContaining([made.key, below.key]),
        )
      }))

    test('are renamed with the labels below them', () =>
      arrange(async (arranged, { mail, changing }) => {
        for (const label of ['Old', 'Old/Below', 'Old/Below/Deep', 'Older', 'Elsewhere'])
          await arranged.createLabel(label)
        const key = await arranged.deliver(letter(1), 'Old/Below')
        const [old, elsewhere] = [await mailboxOf(mail, 'Old'), await mailboxOf(mail, 'Elsewhere')]
        const renamed = await changing.renameMailbox(old.key, { name: 'New', parentKey: elsewhere.key })
        expect(renamed.map(({ mailbox }) => mailbox.path)).toEqual([
          'Elsewhere/New',
          'Elsewhere/New/Below',
          'Elsewhere/New/Below/Deep',
        ])
        expect(renamed.every(({ formerKey, mailbox }) => formerKey === mailbox.key)).toBe(true)
        expect(await arranged.labels()).toEqual([
          'Elsewhere',
          'Elsewhere/New',
          'Elsewhere/New/Below',
          'Elsewhere/New/Below/Deep',
          'Older',
        ])
        expect(await arranged.labelsOf(key)).toEqual(['Elsewhere/New/Below'])
        expect(await changing.renameMailbox(old.key, { name: 'New' })).toEqual([])
        const below = await mailboxOf(mail, 'Elsewhere/New/Below')
        for (const [to, kind] of [
          [{ parentKey: below.key }, 'rejected'],
          [{ parentKey: null, name: 'older' }, 'conflict'],
          [{ name: 'x'.repeat(220) }, 'rejected'],
        ] as const)
          expect(await failureOf(changing.renameMailbox(old.key, to))).toMatchObject({
            kind,
            isBeforeAcceptance: true,
          })
        expect(await failureOf(changing.renameMailbox('INBOX', { name: 'x' }))).toMatchObject({
          kind: 'rejected',
        })
        expect(await failureOf(changing.renameMailbox('Label_none', { name: 'x' }))).toMatchObject({
          kind: 'not_found',
        })
      }))

    test.each([1, 2, 3])('are renamed by asking again, if the answer to request %i was lost', count =>
      arrange(async (arranged, { mail, changing }) => {
        for (const label of ['Old', 'Old/a', 'Old/b']) await arranged.createLabel(label)
        const labels = new Map((await mail.listMailboxes()).map(({ path, key }) => [path, key]))
        const order = ['Old/a', 'Old/b', 'Old'].map(path => labels.get(path)!)
        await arranged.loseAnswer('PATCH', `/gmail/v1/users/me/labels/${order[count - 1]}`)
        const failure = await failureOf(changing.renameMailbox(labels.get('Old')!, { name: 'New' }))
        expect(failure).toMatchObject({ kind: 'unavailable', isBeforeAcceptance: false })
        await changing.renameMailbox(labels.get('Old')!, { name: 'New' })
        expect(await arranged.labels()).toEqual(['New', 'New/a', 'New/b'])
      }),
    )

    test('are deleted, and leave their messages and the labels below them', () =>
      arrange(async (arranged, { mail, changing }) => {
        for (const label of ['Doomed', 'Doomed/Below']) await arranged.createLabel(label)
        const key = await arranged.deliver(letter(1), 'Doomed')
        const doomed = await mailboxOf(mail, 'Doomed')
        const renamed = await changing.deleteMailbox(doomed.key)
        expect(renamed.map(({ mailbox }) => [mailbox.path, mailbox.name, mailbox.parentKey])).toEqual([
          ['Doomed/Below', 'Doomed/Below', null],
        ])
        expect(await arranged.labelsOf(key)).toEqual([])
        expect(await failureOf(changing.deleteMailbox(doomed.key))).toMatchObject({ kind: 'not_found' })
        expect(await failureOf(changing.deleteMailbox('INBOX'))).toMatchObject({
          kind: 'rejected',
          isBeforeAcceptance: true,
        })
      }))

    test.each(['trash', 'sent', 'drafts'] as const)('are always there for %s', role =>
      arrange(async (_, { changing }) => {
        expect(await changing.requireMailbox(role)).toMatchObject({ mailbox: { role }, isNew: false })
      }),
    )
  })

  describe(`${name}: drafts`, () => {
    test('keep their id over new contents under any key', () =>
      arrange(async (arranged, { changing }) => {
        const added = await changing.addDraft(draftOf('DRAFT', 1), false)
        expect(added).toMatchObject({
          draftKey: expect.any(String),
          message: { isDraft: true, subject: 'Draft', draftMark: { generation: 1 } },
        })
        const known = {
          mailboxKey: 'DRAFT',
          draftKey: added.draftKey,
          internetMessageId: null,
          others: [],
          copies: [],
        }
        const former = { source: added.location!.source, cursor: null, key: added.location!.key }
        const outcome = await changing.replaceDraft({ ...draftOf('DRAFT', 2), ...known, former })
        if (outcome.type !== 'replaced') throw new Error('lost')
        expect(outcome).toMatchObject({
          isSettled: true,
          added: { draftKey: added.draftKey, threadId: added.threadId },
        })
        expect(outcome.added.location?.key).not.toBe(former.key)
        expect(await arranged.labelsOf(former.key)).toBeNull()
        expect(await arranged.rawOf(outcome.added.location!.key)).toBe(draftOf('DRAFT', 2).raw)
        expect(await arranged.drafts()).toEqual(new Map([[added.draftKey, 'Draft']]))

        const [found] = await changing.findDraft({ ...known, former }, [DRAFT_FIELD, 'X-None'])
        expect(found?.location.key).toBe(outcome.added.location?.key)
        expect([...found!.fields]).toEqual([[DRAFT_FIELD, draftMark({ draftId: DRAFT_ID, generation: 2 })]])
        await changing.removeDraft({ ...known, former })
        await changing.removeDraft({ ...known, former })
        expect(await arranged.drafts()).toEqual(new Map())
        expect(await changing.findDraft({ ...known, former }, [])).toEqual([])
        const replaced = changing.replaceDraft({ ...draftOf('DRAFT', 3), ...known, former })
        expect(await failureOf(replaced)).toMatchObject({ kind: 'not_found', isBeforeAcceptance: true })
      }))

    test('are added once, if the first try was carried out and its answer was lost', () =>
      arrange(async (arranged, { changing }) => {
        await arranged.loseAnswer('POST', '/upload/gmail/v1/users/me/drafts')
        expect(await failureOf(changing.addDraft(draftOf('DRAFT', 1), false))).toMatchObject({
          kind: 'unavailable',
          isBeforeAcceptance: false,
        })
        const again = await changing.addDraft(draftOf('DRAFT', 1), true)
        expect([...(await arranged.drafts()).keys()]).toEqual([again.draftKey])
      }))

    test('are found by their content, if their id is not known', () =>
      arrange(async (arranged, { changing }) => {
        const added = await changing.addDraft(draftOf('DRAFT', 1), false)
        const former = { source: added.location!.source, cursor: null, key: added.location!.key }
        const known = { mailboxKey: 'DRAFT', draftKey: null, internetMessageId: null, former }
        expect(await changing.findDraft(known, [])).toHaveLength(1)
        await changing.removeDraft({ ...known, others: [] })
        expect(await arranged.drafts()).toEqual(new Map())
      }))

    test('stay in their thread, and get another if it is gone', () =>
      arrange(async (arranged, { mail, changing }) => {
        const replied = await arranged.deliver(
          letter(1).replace('Subject: Letter 1', 'Subject: Draft'),
          'INBOX',
        )
        const { found } = await mail.locate(null, [replied])
        expect(found.has(replied)).toBe(true)
        const extra = 'In-Reply-To: <letter-1@example.com>\r\nReferences: <letter-1@example.com>\r\n'
        const threadId = String(replied)
        const added = await changing.addDraft(draftOf('DRAFT', 1, threadId, extra), false)
        expect(added.threadId).toBe(threadId)
        const alone = await changing.addDraft({ ...draftOf('DRAFT', 2, 'ffffffffffffffff') }, false)
        expect(alone.threadId).not.toBe(threadId)
      }))
  })

  test(`${name}: find reads fields of messages with exactly this Message-ID`, () =>
    arrange(async (arranged, { changing }) => {
      const key = await arranged.deliver(letter(1, 'X-One: folded\r\n here\r\n'), 'INBOX')
      await arranged.deliver(letter(11), 'INBOX')
      const found = await changing.find('INBOX', '<letter-1@example.com>', ['X-One', 'X-Two'])
      expect(found.map(({ location, fields }) => [location.key, [...fields.keys()]])).toEqual([
        [key, ['X-One']],
      ])
      expect(await changing.find('TRASH', '<letter-1@example.com>')).toEqual([])
      expect(await changing.find('INBOX', '<with space@example.com>')).toEqual([])
    }))

  test(`${name}: a message is added byte for byte, with labels and flags`, () =>
    arrange(async (arranged, { changing }) => {
      const raw = letter(5)
      const added = await changing.addMessage('INBOX', {
        internetMessageId: '<letter-5@example.com>',
        byteLength: Buffer.byteLength(raw),
        async *open() {
          yield Buffer.from(raw)
        },
        flags: { isRead: false, isFlagged: true, isDraft: false, categories: ['social'] },
        receivedAt: new Date('2024-01-01T10:00:00Z'),
        threadId: null,
      })
      const key = added.location!.key
      expect(await arranged.rawOf(key)).toBe(raw)
      expect(await arranged.labelsOf(key)).toEqual(['CATEGORY_SOCIAL', 'INBOX', 'STARRED', 'UNREAD'])
    }))
}
