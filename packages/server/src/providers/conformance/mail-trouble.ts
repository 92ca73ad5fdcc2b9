import { describe, expect, test } from 'vitest'
import type { MailProvider } from '../mail.ts'
import { ProviderFailure } from '../failure.ts'
import { letters, type MailArrangement, never, requireMailbox } from './arrangement.ts'
import { openIndex } from './memory-index.ts'

/** What happens to a session when messages, providers or connections fail. */
export function describeTrouble(name: string, setUp: () => Promise<MailArrangement>): void {
  describe(`${name}: trouble`, () => {
    test.each(['cut', 'refuse', 'omit'] as const)(
      'reports a message whose reading ends in %s, and brings all others',
      async does => {
        await using arranged = await setUp()
        const keys = await arranged.world.deliver(letters(40))
        const bad = keys[17]!
        arranged.poison([bad], does)
        const index = openIndex('INBOX')

        let tries = 0
        for (let isDone = false; !isDone && tries < 12; tries++) {
          await using mail = await arranged.connect()
          isDone = await follows(index, mail)
        }

        expect([...index.unreadable.keys()]).toEqual([bad])
        expect(index.keys()).toEqual(keys.filter(key => key !== bad))

        await using mail = await arranged.connect()
        index.skip.add(bad)
        await index.follow(mail)
        arranged.poison([], does)
        index.skip.clear()
        index.retry.push(bad)
        await index.follow(mail)
        expect(index.keys()).toEqual(keys)
      },
    )

    test('ends promptly when the signal aborts, also while nothing is read', async () => {
      await using arranged = await setUp()
      await arranged.world.deliver(letters(600))
      await using mail = await arranged.connect()
      const abort = new AbortController()
      const index = openIndex('INBOX', abort.signal)
      await index.compare(mail)
      await index.bring(mail, 1)
      const begunAt = performance.now()
      abort.abort()

      await expect(index.bring(mail)).rejects.toThrow(ProviderFailure)
      expect(performance.now() - begunAt).toBeLessThan(1000)
    })

    test('fails with unavailable when the provider says goodbye', async () => {
      await using arranged = await setUp()
      await using mail = await arranged.connect({ pollSeconds: 1 })
      await openIndex('INBOX').follow(mail)

      const watching = mail.watch('INBOX', 20, never)
      setTimeout(() => arranged.sayGoodbye(), 200)

      await expect(watching).rejects.toMatchObject({ name: 'ProviderFailure', kind: 'unavailable' })
    })

    test('notices a connection that died silently', async () => {
      await using arranged = await setUp()
      await using mail = await arranged.connect({ keepAliveSeconds: 1, answerSeconds: 1, pollSeconds: 1 })
      await openIndex('INBOX').follow(mail)

      const watching = mail.watch('INBOX', 60, never)
      setTimeout(() => arranged.fallSilent(), 200)
      const begunAt = performance.now()

      await expect(watching).rejects.toMatchObject({ name: 'ProviderFailure', kind: 'unavailable' })
      expect(performance.now() - begunAt).toBeLessThan(6000)
    })
  })
}

export function describeWatching(name: string, setUp: () => Promise<MailArrangement>): void {
  describe(`${name}: watch`, () => {
    test('returns at the first notice of mail that arrives or goes', async () => {
      await using arranged = await setUp()
      const [key] = await arranged.world.deliver(letters(2))
      await using mail = await arranged.connect({ pollSeconds: 1 })
      const index = openIndex('INBOX')
      await index.follow(mail)

      const arriving = mail.watch('INBOX', 20, never)
      await arranged.world.deliver(letters(1, 50))
      expect(await arriving).toMatchObject({ arrived: true })
      await index.follow(mail)

      const going = mail.watch('INBOX', 20, never)
      await arranged.world.expunge('INBOX', [key!])
      // Deleting marks the message first, and the mark may be reported first.
      const notice = await going
      if (!notice.gone) expect(await mail.watch('INBOX', 20, never)).toMatchObject({ gone: true })
      await index.follow(mail)
      expect(index.messages.size).toBe(2)
    })

    test('reports what happened since the source was compared, whatever was read in between', async () => {
      await using arranged = await setUp()
      await arranged.world.createMailbox('Elsewhere')
      await using mail = await arranged.connect({ pollSeconds: 1 })
      const elsewhere = requireMailbox(await mail.listMailboxes(), arranged.world.listedAs('Elsewhere'))
      await openIndex('INBOX').follow(mail)

      await openIndex(elsewhere.source).follow(mail)
      await arranged.world.deliver(letters(1))

      expect(await mail.watch('INBOX', 20, never)).toMatchObject({ arrived: true })
      // Reported once: the caller may have known already.
      expect(await mail.watch('INBOX', 0.3, never)).toEqual({ arrived: false, changed: false, gone: false })
    })

    test('ends when the time is up or the signal aborts', async () => {
      await using arranged = await setUp()
      await using mail = await arranged.connect({ pollSeconds: 1 })
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

async function follows(index: ReturnType<typeof openIndex>, mail: MailProvider): Promise<boolean> {
  try {
    await index.follow(mail)
    return true
  } catch (error) {
    if (error instanceof ProviderFailure) return false
    throw error
  }
}
