import { describe, expect, test } from 'vitest'
import { ProviderFailure } from '../failure.ts'
import { type FollowedArrangement, letters, requireMailbox } from './arrangement.ts'
import { listAll } from './listing.ts'
import { openIndex } from './memory-index.ts'

/** Contract of every `MailProvider` whose mailboxes are sources of their own. */
export function describeFolders(name: string, setUp: () => Promise<FollowedArrangement>): void {
  describe(`${name}: a folder as a source`, () => {
    test('fails with not_found if the mailbox is gone, and continues with others', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Doomed')
      await arranged.world.deliver(letters(2), 'Doomed')
      await using account = await arranged.connect()
      const { mail } = account
      const doomed = openIndex(
        requireMailbox(await mail.listMailboxes(), arranged.world.listedAs('Doomed')).source,
      )
      await doomed.follow(mail)

      await arranged.world.deleteMailbox('Doomed')

      // A server may send BYE to clients that have a deleted mailbox open.
      if ((await failureOf(doomed.compare(mail))) === 'unavailable') {
        await using againAccount = await arranged.connect()
        const { mail: again } = againAccount
        expect(await failureOf(doomed.compare(again))).toBe('not_found')
        await openIndex(arranged.inbox).follow(again)
      } else {
        expect(await failureOf(doomed.compare(mail))).toBe('not_found')
        await openIndex(arranged.inbox).follow(mail)
      }
    })
  })
}

/** Contract of every `MailProvider` whose folders number their messages. */
export function describeNumberedFolders(name: string, setUp: () => Promise<FollowedArrangement>): void {
  describe(`${name}: a folder with numbers`, () => {
    test('starts again with the same identities if the provider renumbered', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Numbers')
      const keys = await arranged.world.deliver(letters(4), 'Numbers')
      await using account = await arranged.connect()
      const { mail } = account
      const { source } = requireMailbox(await mail.listMailboxes(), arranged.world.listedAs('Numbers'))
      const index = openIndex(source)
      await index.follow(mail)
      const before = [...index.messages.values()].map(({ identity }) => identity).toSorted()
      const old = index.cursor

      await arranged.world.renumber('Numbers')
      await using otherAccount = await arranged.connect()
      const { mail: other } = otherAccount
      expect(await other.locate({ source, cursor: old }, keys)).toMatchObject({
        found: new Map(),
        gone: keys,
      })
      await expect(index.bring(other)).rejects.toThrow(ProviderFailure)
      index.takeSteps()
      await index.follow(other)

      expect(index.steps[0]?.type).toBe('reset')
      expect([...index.messages.values()].map(({ identity }) => identity).toSorted()).toEqual(before)
    })

    test('is not listed if it was renumbered since the cursor', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Numbers')
      await arranged.world.deliver(letters(3), 'Numbers')
      await using account = await arranged.connect()
      const { mail } = account
      const { source } = requireMailbox(await mail.listMailboxes(), arranged.world.listedAs('Numbers'))
      const index = openIndex(source)
      await index.follow(mail)
      await arranged.world.renumber('Numbers')
      await using later = await arranged.connect()
      await expect(listAll(later.mail, { source, cursor: index.cursor })).rejects.toThrow(ProviderFailure)
    })
  })
}

async function failureOf(promise: Promise<unknown>): Promise<string> {
  return promise.then(
    () => 'none',
    (error: unknown) => (error instanceof ProviderFailure ? error.kind : String(error)),
  )
}
