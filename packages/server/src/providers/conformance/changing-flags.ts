import { describe, expect, test } from 'vitest'
import type { MessageSet } from '../changing.ts'
import type { MessageKey } from '../mail.ts'
import { type ChangingArrangement, letters } from './arrangement.ts'
import { all, failureOf, inInbox, keyOf } from './changing-steps.ts'
import { openIndex } from './memory-index.ts'
import { numberFor } from '../../../test/soak.ts'

/** Contract of `ChangingProvider` for flags and categories. */
export function describeChangedFlags(name: string, setUp: () => Promise<ChangingArrangement>): void {
  describe(`${name}: changeFlags`, () => {
    test('adds and removes singly, and keeps flags that other clients set', async () => {
      await using arranged = await setUp()
      const [one, two] = await arranged.world.deliver(letters(2))
      await arranged.world.flag('INBOX', [one!], '\\Flagged', 'theirs')
      await using account = await arranged.connect()
      const at = await inInbox(arranged, [one!])

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

      const index = openIndex(arranged.inbox)
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
      const at = await inInbox(arranged, [key!])

      await all(account.changing.changeFlags(at, { addCategories: categories }))
      const index = openIndex(arranged.inbox)
      await index.follow(account.mail)
      expect(index.messages.get(key!)?.categories).toEqual(categories)

      const [cleared] = await all(account.changing.changeFlags(at, { removeCategories: categories }))
      expect(cleared?.changed[0]?.flags.categories).toEqual([])
    })

    test('changes many, and names the ones that are gone', async () => {
      await using arranged = await setUp()
      // More than the flags of one command.
      const count = numberFor({ ci: 520, soak: 2_100 })
      const keys = await arranged.world.deliver(letters(count))
      await using account = await arranged.connect()
      const gone = keys.filter((_, at) => at % 400 === 7)
      await arranged.world.expunge('INBOX', gone)

      const batches = await all(account.changing.changeFlags(await inInbox(arranged, keys), { isRead: true }))

      expect(batches.flatMap(batch => batch.gone)).toEqual(gone)
      const changed = batches.flatMap(batch => batch.changed)
      expect(changed).toHaveLength(count - gone.length)
      expect(changed.every(({ flags }) => flags.isRead)).toBe(true)
      const held = await arranged.held('INBOX')
      expect(held.filter(({ flags }) => flags.includes('\\Seen'))).toHaveLength(count - gone.length)
    })

    test('returns the present state if nothing is to be changed', async () => {
      await using arranged = await setUp()
      const [key] = await arranged.world.deliver(letters(1))
      await using account = await arranged.connect()
      const { unknownKey } = arranged
      const at = await inInbox(arranged, [key!, unknownKey])
      const batches = await all(account.changing.changeFlags(at, {}))
      expect(batches).toMatchObject([{ changed: [{ key, flags: { isRead: false } }], gone: [unknownKey] }])
    })

    test('changes messages that came after the first change', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Kept')
      const [one] = await arranged.world.deliver(letters(1))
      await using account = await arranged.connect()
      const { changing } = account
      const kept = await keyOf(arranged, account.mail, 'Kept')
      const { source, cursor } = await arranged.index('INBOX')
      const at = (key: MessageKey): MessageSet => ({ source, cursor, keys: [key] })
      await all(changing.changeFlags(at(one!), { isRead: true }))

      const [two] = await arranged.world.deliver(letters(1, 10))
      const [changed] = await all(changing.changeFlags(at(two!), { isRead: true }))
      expect(changed).toMatchObject({ changed: [{ key: two, flags: { isRead: true } }], gone: [] })
      const [three] = await arranged.world.deliver(letters(1, 20))
      const [moved] = await all(changing.move(at(three!), kept))
      expect(moved).toMatchObject({ moved: [{ key: three }], gone: [] })
      await all(changing.changeFlags(at(one!), { isRead: true }))
      const [four] = await arranged.world.deliver(letters(1, 30))
      await all(changing.remove(at(four!)))
      expect((await arranged.held('INBOX')).map(({ key }) => key)).toEqual([one, two])
      expect(await arranged.held('Kept')).toHaveLength(1)
    })
  })
}

/** Contract of `ChangingProvider` whose folders number their messages. */
export function describeRenumberedChanges(name: string, setUp: () => Promise<ChangingArrangement>): void {
  describe(`${name}: numbers`, () => {
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
}
