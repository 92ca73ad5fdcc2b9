import { describe, expect, test } from 'vitest'
import type { Cursor, ListedMessage, MailProvider } from '../mail.ts'
import { DAY_MS, type FollowedArrangement, letter, letters } from './arrangement.ts'
import { byKey, openIndex } from './memory-index.ts'

const PAGES_MAX = 1000

/** Every page of a source. */
export async function listAll(
  mail: MailProvider,
  at: { source: string; cursor: Cursor | null },
  since: Date | null = null,
): Promise<ListedMessage[]> {
  const listed: ListedMessage[] = []
  let after: Cursor | null = null
  for (let pages = 0; pages < PAGES_MAX; pages++) {
    const { signal } = new AbortController()
    const page = await mail.list(at, { since, after, signal })
    listed.push(...page.messages)
    if (page.next === null) return listed
    // It may be stored.
    after = JSON.parse(JSON.stringify(page.next)) as Cursor
  }
  throw new Error('the pages do not end')
}

/** What the comparison with the index may rely on in `MailProvider.list`. */
export function describeListing(name: string, setUp: () => Promise<FollowedArrangement>): void {
  describe(`${name}: listing a source`, () => {
    test('names every message once, with its flags', async () => {
      await using arranged = await setUp()
      const keys = await arranged.world.deliver(letters(30))
      await arranged.world.expunge('INBOX', [keys[4]!])
      await arranged.world.flag('INBOX', [keys[7]!], '\\Seen', arranged.category)
      await using account = await arranged.connect()
      const { mail } = account
      const index = openIndex(arranged.inbox)
      await index.follow(mail)

      const listed = await listAll(mail, { source: arranged.inbox, cursor: index.cursor })

      const plain = { isRead: false, isFlagged: false, isDraft: false, categories: [] }
      const expected = keys.flatMap((key, at) =>
        at === 4
          ? []
          : [
              {
                key,
                flags: at === 7 ? { ...plain, isRead: true, categories: [arranged.category] } : plain,
                mailboxKeys: index.messages.get(key)!.mailboxKeys.toSorted(),
              },
            ],
      )
      expect(
        listed
          .map(({ key, flags, mailboxKeys }) => ({ key, flags, mailboxKeys: mailboxKeys.toSorted() }))
          .toSorted((a, b) => byKey(a.key, b.key)),
      ).toEqual(expected.toSorted((a, b) => byKey(a.key, b.key)))
    })

    test('leaves out messages from before the window, to the millisecond if times are that exact', async () => {
      await using arranged = await setUp()
      const since = new Date(Date.now() - 30 * DAY_MS)
      const times = [100, 30.01, 29.99, 1].map(days => new Date(Date.now() - days * DAY_MS))
      const keys = await arranged.world.deliver(
        times.map((internalDate, number) => ({ raw: letter(number), internalDate })),
      )
      await using account = await arranged.connect()
      const { mail } = account
      const index = openIndex(arranged.inbox)
      await index.follow(mail)
      const listed = await listAll(mail, { source: arranged.inbox, cursor: index.cursor }, since)
      expect(listed.map(({ key }) => key).toSorted(byKey)).toEqual(keys.slice(2).toSorted(byKey))
    })
  })
}
