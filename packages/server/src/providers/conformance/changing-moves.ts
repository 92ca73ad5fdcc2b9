import { describe, expect, test } from 'vitest'
import { type ChangingArrangement, letter, letters } from './arrangement.ts'
import type { MessageKey } from '../mail.ts'
import { all, failureOf, inInbox, keyOf } from './changing-steps.ts'
import { openIndex } from './memory-index.ts'
import { numberFor } from '../../../test/soak.ts'

/** Contract of `ChangingProvider` for messages that are moved or removed. */
export function describeMovedMessages(name: string, setUp: () => Promise<ChangingArrangement>): void {
  describe(`${name}: move`, () => {
    test('moves content and flags, and returns the new locations', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Kept')
      const keys = await arranged.world.deliver(letters(4))
      await arranged.world.flag('INBOX', [keys[1]!], '\\Seen', '\\Flagged', 'work')
      await using account = await arranged.connect()
      const target = await keyOf(arranged, account.mail, 'Kept')

      const batches = await all(account.changing.move(await inInbox(arranged, [keys[1]!, keys[3]!]), target))

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

    test('moves many, and names the ones that are gone', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Kept')
      const count = numberFor({ ci: 320, soak: 1_000 })
      const keys = await arranged.world.deliver(letters(count))
      await using account = await arranged.connect()
      const target = await keyOf(arranged, account.mail, 'Kept')
      const gone = keys.filter((_, at) => at % 300 === 5)
      await arranged.world.expunge('INBOX', gone)

      const batches = await all(account.changing.move(await inInbox(arranged, keys), target))

      expect(batches.flatMap(batch => batch.gone)).toEqual(gone)
      const moved = batches.flatMap(batch => batch.moved)
      expect(moved.map(({ key }) => key)).toEqual(keys.filter(key => !gone.includes(key)))
      const held = await arranged.held('Kept')
      expect(held).toHaveLength(count - gone.length)
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
      await all(account.changing.move(await inInbox(arranged, keys), target))
      expect((await arranged.held('Kept')).map(({ raw }) => raw)).toEqual([letter(1), letter(1)])
    })

    test('fails with not_found if the target is gone, and changes nothing', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Kept')
      const keys = await arranged.world.deliver(letters(2))
      await using account = await arranged.connect()
      const target = await keyOf(arranged, account.mail, 'Kept')
      await arranged.world.deleteMailbox('Kept')

      const moving = all(account.changing.move(await inInbox(arranged, keys), target))

      expect(await failureOf(moving)).toMatchObject({ kind: 'not_found', isBeforeAcceptance: true })
      expect(await arranged.held('INBOX')).toHaveLength(2)
    })

    test('keeps messages that are to go where they are', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver(letters(2))
      await using account = await arranged.connect()
      const { inbox, unknownKey } = arranged
      const [batch] = await all(account.changing.move(await inInbox(arranged, [...keys, unknownKey]), inbox))
      expect(batch).toMatchObject({
        moved: keys.map(key => ({ key, location: { source: inbox, key } })),
        gone: [unknownKey],
      })
      expect((await arranged.held('INBOX')).map(({ key }) => key)).toEqual(keys)
    })
  })

  describe(`${name}: remove`, () => {
    test('removes the messages and no others, and may be repeated', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver(letters(700))
      await removeHalf(arranged, keys, [])
    })
  })
}

/** Removes every second message twice, but for some that stay. */
async function removeHalf(
  arranged: ChangingArrangement,
  keys: readonly MessageKey[],
  kept: readonly MessageKey[],
): Promise<void> {
  const doomed = keys.filter((key, at) => at % 2 === 1 && !kept.includes(key))
  await using account = await arranged.connect()
  for (let times = 0; times < 2; times++) {
    const batches = await all(account.changing.remove(await inInbox(arranged, doomed)))
    expect(batches.flatMap(({ removed }) => removed)).toEqual(times === 0 ? doomed : [])
    expect(batches.flatMap(({ gone }) => gone)).toEqual(times === 0 ? [] : doomed)
  }
  const held = await arranged.held('INBOX')
  expect(held.map(({ key }) => key)).toEqual(keys.filter(key => !doomed.includes(key)))
}

/** Contract of `ChangingProvider` where messages are marked before they are removed. */
export function describeMarkedMessages(name: string, setUp: () => Promise<ChangingArrangement>): void {
  describe(`${name}: messages that are marked as deleted`, () => {
    test('stay when another one is moved', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Kept')
      const keys = await arranged.world.deliver(letters(4))
      await arranged.world.flag('INBOX', [keys[0]!, keys[2]!], '\\Deleted')
      await using account = await arranged.connect()
      const target = await keyOf(arranged, account.mail, 'Kept')

      await all(account.changing.move(await inInbox(arranged, [keys[1]!]), target))

      const held = await arranged.held('INBOX')
      expect(held.map(({ key, flags }) => [key, flags.includes('\\Deleted')])).toEqual([
        [keys[0], true],
        [keys[2], true],
        [keys[3], false],
      ])
    })

    test('stay when others are removed', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver(letters(700))
      const marked = [keys[0]!, keys[350]!, keys[699]!]
      await arranged.world.flag('INBOX', marked, '\\Deleted')
      await removeHalf(arranged, keys, marked)
      const held = await arranged.held('INBOX')
      expect(held.filter(({ flags }) => flags.includes('\\Deleted')).map(({ key }) => key)).toEqual(marked)
    })

    test('stay when a mailbox is left that was changed', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver(letters(3))
      await using account = await arranged.connect()
      await all(account.changing.changeFlags(await inInbox(arranged, keys), { isRead: true }))
      await arranged.world.flag('INBOX', keys.slice(1), '\\Deleted')

      await account.mail.listMailboxes()
      await openIndex(arranged.inbox).follow(account.mail)

      expect(await arranged.held('INBOX')).toHaveLength(3)
    })
  })
}
