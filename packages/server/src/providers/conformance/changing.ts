import { describe, expect, test } from 'vitest'
import type { MessageSet } from '../changing.ts'
import { ProviderFailure } from '../failure.ts'
import type { MailProvider, MessageKey } from '../mail.ts'
import { type ChangingArrangement, letter, letters, requireMailbox } from './arrangement.ts'
import { describeChangedMailboxes } from './changing-mailboxes.ts'
import { describeAddedMessages } from './changing-messages.ts'
import { openIndex } from './memory-index.ts'

/** What a feature may rely on in every `ChangingProvider`. */
export function describeChanging(name: string, setUp: () => Promise<ChangingArrangement>): void {
  describe(`${name}: changeFlags`, () => {
    test('adds and removes singly, and keeps what other clients set', async () => {
      await using arranged = await setUp()
      const [one, two] = await arranged.world.deliver(letters(2))
      await arranged.world.flag('INBOX', [one!], '\\Flagged', 'theirs')
      await using account = await arranged.connect()
      const at = { source: 'INBOX', cursor: null, keys: [one!] }

      const [added] = await all(account.changing.changeFlags(at, { isRead: true, addCategories: ['work'] }))
      expect(added).toMatchObject({
        gone: [],
        changed: [
          {
            key: one,
            flags: { isRead: true, isFlagged: true, isDraft: false, categories: ['theirs', 'work'] },
          },
        ],
      })
      const [removed] = await all(
        account.changing.changeFlags(at, { isFlagged: false, removeCategories: ['theirs'] }),
      )
      expect(removed?.changed[0]?.flags).toEqual({
        isRead: true,
        isFlagged: false,
        isDraft: false,
        categories: ['work'],
      })

      const index = openIndex('INBOX')
      await index.follow(account.mail)
      expect(index.messages.get(one!)).toMatchObject(removed!.changed[0]!.flags)
      expect(index.messages.get(two!)).toMatchObject({ isRead: false, categories: [] })
    })

    test('keeps categories of any wording as they are', async () => {
      await using arranged = await setUp()
      const [key] = await arranged.world.deliver(letters(1))
      await using account = await arranged.connect()
      const categories = [
        'Grüße & more',
        'two words',
        '$pecial',
        'junk',
        '(a) "b" \\c %*]{',
        '日本語',
        '😀',
      ].toSorted()
      const at = { source: 'INBOX', cursor: null, keys: [key!] }

      await all(account.changing.changeFlags(at, { addCategories: categories }))
      const index = openIndex('INBOX')
      await index.follow(account.mail)
      expect(index.messages.get(key!)?.categories).toEqual(categories)

      const [cleared] = await all(account.changing.changeFlags(at, { removeCategories: categories }))
      expect(cleared?.changed[0]?.flags.categories).toEqual([])
    })

    test('changes thousands, and names those that are gone', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver(letters(2100))
      await using account = await arranged.connect()
      const gone = keys.filter((_, at) => at % 400 === 7)
      await arranged.world.expunge('INBOX', gone)

      const batches = await all(
        account.changing.changeFlags({ source: 'INBOX', cursor: null, keys }, { isRead: true }),
      )

      expect(batches.flatMap(batch => batch.gone)).toEqual(gone)
      const changed = batches.flatMap(batch => batch.changed)
      expect(changed).toHaveLength(2100 - gone.length)
      expect(changed.every(({ flags }) => flags.isRead)).toBe(true)
      const held = await arranged.held('INBOX')
      expect(held.filter(({ flags }) => flags.includes('\\Seen'))).toHaveLength(2100 - gone.length)
    })

    test('answers what is there if nothing is to be changed', async () => {
      await using arranged = await setUp()
      const [key] = await arranged.world.deliver(letters(1))
      await using account = await arranged.connect()
      const at = { source: 'INBOX', cursor: null, keys: [key!, 4_000_000] }
      const batches = await all(account.changing.changeFlags(at, {}))
      expect(batches).toMatchObject([{ changed: [{ key, flags: { isRead: false } }], gone: [4_000_000] }])
    })

    test('changes messages that came after the first change', async () => {
      await using arranged = await setUp()
      const [one] = await arranged.world.deliver(letters(1))
      await using account = await arranged.connect()
      const { changing } = account
      await all(changing.changeFlags({ source: 'INBOX', cursor: null, keys: [one!] }, { isRead: true }))
      const [two, three, four] = await arranged.world.deliver(letters(3, 10))
      await arranged.world.createMailbox('Kept')
      const kept = await keyOf(arranged, account.mail, 'Kept')

      const at = (key: MessageKey) => ({ source: 'INBOX', cursor: null, keys: [key] })
      const [changed] = await all(changing.changeFlags(at(two!), { isRead: true }))
      expect(changed).toMatchObject({ changed: [{ key: two, flags: { isRead: true } }], gone: [] })
      const [moved] = await all(changing.move(at(three!), kept))
      expect(moved).toMatchObject({ moved: [{ key: three }], gone: [] })
      await all(changing.remove(at(four!)))
      expect((await arranged.held('INBOX')).map(({ key }) => key)).toEqual([one, two])
      expect(await arranged.held('Kept')).toHaveLength(1)
    })

    test('changes nothing in a source that was renumbered', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Numbers')
      const keys = await arranged.world.deliver(letters(3), 'Numbers')
      const { source, cursor } = await arranged.index('Numbers')
      await arranged.world.renumber('Numbers')
      await using account = await arranged.connect()
      const at: MessageSet = { source, cursor, keys }
      const { changing } = account

      for (const steps of [
        changing.changeFlags(at, { isRead: true }),
        changing.move(at, 'INBOX'),
        changing.remove(at),
      ]) {
        expect(await failureOf(all<unknown>(steps))).toMatchObject({
          kind: 'unavailable',
          isBeforeAcceptance: true,
        })
      }
      // Renumbering may give other keys as well.
      expect(await arranged.held('Numbers')).toMatchObject(keys.map(() => ({ flags: [] })))
    })
  })

  describe(`${name}: move`, () => {
    test('moves content and flags, and says where the messages are', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Kept')
      const keys = await arranged.world.deliver(letters(4))
      await arranged.world.flag('INBOX', [keys[1]!], '\\Seen', '\\Flagged', 'work')
      await using account = await arranged.connect()
      const target = await keyOf(arranged, account.mail, 'Kept')

      const batches = await all(
        account.changing.move({ source: 'INBOX', cursor: null, keys: [keys[1]!, keys[3]!] }, target),
      )

      const moved = batches.flatMap(batch => batch.moved)
      expect(moved.map(({ key, mailboxKeys }) => [key, mailboxKeys])).toEqual([
        [keys[1], [target]],
        [keys[3], [target]],
      ])
      const held = await arranged.held('Kept')
      expect(held.map(({ raw }) => raw)).toEqual([letter(2), letter(4)])
      expect(held[0]?.flags).toEqual(expect.arrayContaining(['\\Seen', '\\Flagged', 'work']))
      expect((await arranged.held('INBOX')).map(({ key }) => key)).toEqual([keys[0], keys[2]])
      const { cursor } = await arranged.index('Kept')
      for (const [at, { location }] of moved.entries()) {
        if (!location) continue
        expect(location).toMatchObject({ source: target, key: held[at]?.key })
        expect(location.isValidUnder(cursor)).toBe(true)
      }
    })

    test('moves a thousand, and names those that are gone', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Kept')
      const keys = await arranged.world.deliver(letters(1000))
      await using account = await arranged.connect()
      const target = await keyOf(arranged, account.mail, 'Kept')
      const gone = keys.filter((_, at) => at % 300 === 5)
      await arranged.world.expunge('INBOX', gone)

      const batches = await all(account.changing.move({ source: 'INBOX', cursor: null, keys }, target))

      expect(batches.flatMap(batch => batch.gone)).toEqual(gone)
      const moved = batches.flatMap(batch => batch.moved)
      expect(moved.map(({ key }) => key)).toEqual(keys.filter(key => !gone.includes(key)))
      const held = await arranged.held('Kept')
      expect(held).toHaveLength(1000 - gone.length)
      const rawOf = new Map(held.map(({ key, raw }) => [key, raw]))
      for (const { key, location } of moved)
        if (location) expect(rawOf.get(location.key)).toBe(letter(keys.indexOf(key) + 1))
      expect(await arranged.held('INBOX')).toEqual([])
    })

    test('moves equal messages as often as they are there', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Kept')
      const internalDate = new Date('2024-03-01T10:00:00Z')
      const twins = [1, 1].map(number => ({ raw: letter(number), internalDate }))
      const keys = await arranged.world.deliver(twins)
      await using account = await arranged.connect()
      const target = await keyOf(arranged, account.mail, 'Kept')
      await all(account.changing.move({ source: 'INBOX', cursor: null, keys }, target))
      expect((await arranged.held('Kept')).map(({ raw }) => raw)).toEqual([letter(1), letter(1)])
    })

    test('leaves what another client marked as deleted', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Kept')
      const keys = await arranged.world.deliver(letters(4))
      await arranged.world.flag('INBOX', [keys[0]!, keys[2]!], '\\Deleted')
      await using account = await arranged.connect()
      const target = await keyOf(arranged, account.mail, 'Kept')

      await all(account.changing.move({ source: 'INBOX', cursor: null, keys: [keys[1]!] }, target))

      const held = await arranged.held('INBOX')
      expect(held.map(({ key, flags }) => [key, flags.includes('\\Deleted')])).toEqual([
        [keys[0], true],
        [keys[2], true],
        [keys[3], false],
      ])
    })

    test('fails with not_found if the target is gone, and changes nothing', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Kept')
      const keys = await arranged.world.deliver(letters(2))
      await using account = await arranged.connect()
      const target = await keyOf(arranged, account.mail, 'Kept')
      await arranged.world.deleteMailbox('Kept')

      const moving = all(account.changing.move({ source: 'INBOX', cursor: null, keys }, target))

      expect(await failureOf(moving)).toMatchObject({ kind: 'not_found', isBeforeAcceptance: true })
      expect(await arranged.held('INBOX')).toHaveLength(2)
    })

    test('keeps messages that are to go where they are', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver(letters(2))
      await using account = await arranged.connect()
      const [batch] = await all(
        account.changing.move({ source: 'INBOX', cursor: null, keys: [...keys, 4_000_000] }, 'INBOX'),
      )
      expect(batch).toMatchObject({
        moved: keys.map(key => ({ key, location: { source: 'INBOX', key } })),
        gone: [4_000_000],
      })
      expect((await arranged.held('INBOX')).map(({ key }) => key)).toEqual(keys)
    })
  })

  describe(`${name}: remove`, () => {
    test('removes the messages and no others, and may be repeated', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver(letters(700))
      const marked = [keys[0]!, keys[350]!, keys[699]!]
      await arranged.world.flag('INBOX', marked, '\\Deleted')
      const doomed = keys.filter((key, at) => at % 2 === 1 && !marked.includes(key))
      await using account = await arranged.connect()

      for (let times = 0; times < 2; times++) {
        const batches = await all(account.changing.remove({ source: 'INBOX', cursor: null, keys: doomed }))
        expect(batches.flatMap(({ removed }) => removed)).toEqual(times === 0 ? doomed : [])
        expect(batches.flatMap(({ gone }) => gone)).toEqual(times === 0 ? [] : doomed)
      }

      const held = await arranged.held('INBOX')
      expect(held.map(({ key }) => key)).toEqual(keys.filter(key => !doomed.includes(key)))
      expect(held.filter(({ flags }) => flags.includes('\\Deleted')).map(({ key }) => key)).toEqual(marked)
    })

    test('removes nothing by leaving a mailbox that it changed', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver(letters(3))
      await using account = await arranged.connect()
      await all(account.changing.changeFlags({ source: 'INBOX', cursor: null, keys }, { isRead: true }))
      await arranged.world.flag('INBOX', keys.slice(1), '\\Deleted')

      await account.mail.listMailboxes()
      await openIndex('INBOX').follow(account.mail)

      expect(await arranged.held('INBOX')).toHaveLength(3)
    })
  })

  describeChangedMailboxes(name, setUp)
  describeAddedMessages(name, setUp)
}

export async function all<T>(steps: AsyncGenerator<T, void, void>): Promise<T[]> {
  const yielded: T[] = []
  for await (const step of steps) yielded.push(step)
  return yielded
}

export async function keyOf(
  arranged: ChangingArrangement,
  mail: MailProvider,
  mailbox: string,
): Promise<string> {
  return requireMailbox(await mail.listMailboxes(), arranged.world.listedAs(mailbox)).key
}

export async function failureOf(promise: Promise<unknown>): Promise<ProviderFailure> {
  const outcome = await promise.then(
    () => new Error('nothing failed'),
    (error: unknown) => error,
  )
  if (outcome instanceof ProviderFailure) return outcome
  throw outcome
}
