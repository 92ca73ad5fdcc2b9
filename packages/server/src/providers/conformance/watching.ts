import { describe, expect, test } from 'vitest'
import { type FollowedArrangement, letters, never, requireMailbox } from './arrangement.ts'
import type { RemoteMailbox } from '../mail.ts'
import { openIndex } from './memory-index.ts'

/** Longer than any test waits for its own changes. */
const WATCH_SECONDS = 120

/** What `MailProvider.watch` promises. */
export function describeWatching(name: string, setUp: () => Promise<FollowedArrangement>): void {
  describe(`${name}: watch`, () => {
    test('returns at the first notice of mail that arrives or goes', async () => {
      await using arranged = await setUp()
      const [key] = await arranged.world.deliver(letters(2))
      await using account = await arranged.connect({ pollSeconds: 1 })
      const { mail } = account
      const index = openIndex(arranged.inbox)
      await index.follow(mail)

      const arriving = mail.watch(arranged.inbox, WATCH_SECONDS, never)
      await arranged.world.deliver(letters(1, 50))
      expect(await arriving).toMatchObject({ arrived: true })
      await index.follow(mail)

      const going = mail.watch(arranged.inbox, WATCH_SECONDS, never)
      await arranged.world.expunge('INBOX', [key!])
      // A deletion marks the message first, and that may be reported first.
      const notice = await going
      if (arranged.kind === 'label') expect(notice).toMatchObject({ changed: true })
      else if (!notice.gone)
        expect(await mail.watch(arranged.inbox, WATCH_SECONDS, never)).toMatchObject({ gone: true })
      await index.follow(mail)
      expect(index.messages.size).toBe(2)
    })

    test('reports changes since the source was compared, despite other reads in between', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Elsewhere')
      await using account = await arranged.connect({ pollSeconds: 1 })
      const { mail } = account
      const elsewhere = requireMailbox(await mail.listMailboxes(), arranged.world.listedAs('Elsewhere'))
      await openIndex(arranged.inbox).follow(mail)

      await openIndex(elsewhere.source).follow(mail)
      await arranged.world.deliver(letters(1))

      expect(await mail.watch(arranged.inbox, WATCH_SECONDS, never)).toMatchObject({ arrived: true })
      // Once: the caller may have known already.
      expect(await mail.watch(arranged.inbox, 0.3, never)).toEqual({
        arrived: false,
        changed: false,
        gone: false,
      })
    })

    test('misses nothing that happens at a listing after a quiet watch', async () => {
      await using arranged = await setUp()
      await using account = await arranged.connect({ pollSeconds: 1 })
      const { mail } = account
      const index = openIndex(arranged.inbox)
      const hasChanged = (listed: RemoteMailbox[]) =>
        mail.hasChanged(requireMailbox(listed, 'INBOX'), index.cursor)
      for (const isListedTwice of [false, true]) {
        await index.follow(mail)
        while ((await mail.watch(arranged.inbox, 0.3, never)).arrived);
        if (isListedTwice) await mail.listMailboxes()
        await arranged.world.deliver(letters(1))
        const isListed = hasChanged(await mail.listMailboxes())
        // A second listing in a row shows the latest state by itself.
        if (isListedTwice) expect(isListed).toBe(true)
        else if (!isListed)
          expect(await mail.watch(arranged.inbox, WATCH_SECONDS, never)).toMatchObject({ arrived: true })
      }
      await index.follow(mail)
      expect(index.messages.size).toBe(2)
    })

    test('ends when the time is up or the signal is aborted', async () => {
      await using arranged = await setUp()
      await using account = await arranged.connect({ pollSeconds: 1 })
      const { mail } = account
      const index = openIndex(arranged.inbox)
      await index.follow(mail)
      const nothing = { arrived: false, changed: false, gone: false }

      expect(await mail.watch(arranged.inbox, 0.3, never)).toEqual(nothing)
      const begunAt = performance.now()
      expect(await mail.watch(arranged.inbox, WATCH_SECONDS, AbortSignal.timeout(200))).toEqual(nothing)
      expect(performance.now() - begunAt).toBeLessThan(WATCH_SECONDS * 1_000)
      await arranged.world.deliver(letters(1))
      await index.follow(mail)
      expect(index.messages.size).toBe(1)
    })
  })
}
