import { describe, expect, test } from 'vitest'
import { type Arrangement, letters, never, requireMailbox } from './arrangement.ts'
import { openIndex } from './memory-index.ts'

/** What `MailProvider.watch` promises. */
export function describeWatching(name: string, setUp: () => Promise<Arrangement<'mail'>>): void {
  describe(`${name}: watch`, () => {
    test('returns at the first notice of mail that arrives or goes', async () => {
      await using arranged = await setUp()
      const [key] = await arranged.world.deliver(letters(2))
      await using account = await arranged.connect({ pollSeconds: 1 })
      const { mail } = account
      const index = openIndex('INBOX')
      await index.follow(mail)

      const arriving = mail.watch('INBOX', 20, never)
      await arranged.world.deliver(letters(1, 50))
      expect(await arriving).toMatchObject({ arrived: true })
      await index.follow(mail)

      const going = mail.watch('INBOX', 20, never)
      await arranged.world.expunge('INBOX', [key!])
      // To delete is to mark first, which may be told first.
      const notice = await going
      if (!notice.gone) expect(await mail.watch('INBOX', 20, never)).toMatchObject({ gone: true })
      await index.follow(mail)
      expect(index.messages.size).toBe(2)
    })

    test('reports what happened since the source was compared, whatever was read in between', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Elsewhere')
      await using account = await arranged.connect({ pollSeconds: 1 })
      const { mail } = account
      const elsewhere = requireMailbox(await mail.listMailboxes(), arranged.world.listedAs('Elsewhere'))
      await openIndex('INBOX').follow(mail)

      await openIndex(elsewhere.source).follow(mail)
      await arranged.world.deliver(letters(1))

      expect(await mail.watch('INBOX', 20, never)).toMatchObject({ arrived: true })
      // Once: the caller may have known already.
      expect(await mail.watch('INBOX', 0.3, never)).toEqual({ arrived: false, changed: false, gone: false })
    })

    test('ends when the time is up or the signal says so', async () => {
      await using arranged = await setUp()
      await using account = await arranged.connect({ pollSeconds: 1 })
      const { mail } = account
      const index = openIndex('INBOX')
      await index.follow(mail)
      const nothing = { arrived: false, changed: false, gone: false }

      expect(await mail.watch('INBOX', 0.3, never)).toEqual(nothing)
      const begunAt = performance.now()
      expect(await mail.watch('INBOX', 20, AbortSignal.timeout(200))).toEqual(nothing)
      expect(performance.now() - begunAt).toBeLessThan(2000)
      await arranged.world.deliver(letters(1))
      await index.follow(mail)
      expect(index.messages.size).toBe(1)
    })
  })
}
