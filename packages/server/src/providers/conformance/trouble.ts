import { describe, expect, test } from 'vitest'
import type { MailProvider } from '../mail.ts'
import { ProviderFailure } from '../failure.ts'
import { type FollowedArrangement, letters, type TroubledArrangement, never } from './arrangement.ts'
import { byKey, type MemoryIndex, openIndex } from './memory-index.ts'

/** The shortest time that an adapter gives its provider for an answer by default. */
const ANSWER_MILLISECONDS = 30_000

/** Contract of every `MailProvider` some of whose messages cannot be read. */
export function describeTrouble(name: string, setUp: () => Promise<FollowedArrangement>): void {
  describe(`${name}: trouble`, () => {
    test.each(['cut', 'refuse', 'omit'] as const)(
      'reports a message whose reading ends in %s, and brings all others',
      async does => {
        await using arranged = await setUp()
        const keys = await arranged.world.deliver(letters(40))
        const bad = keys[17]!
        await arranged.poison([bad], does)
        const index = openIndex(arranged.inbox)

        await followOverConnections(arranged, index)

        expect([...index.unreadable.keys()]).toEqual([bad])
        expect(index.keys()).toEqual(keys.filter(key => key !== bad).toSorted(byKey))

        await using account = await arranged.connect()
        const { mail } = account
        index.skip.add(bad)
        await index.follow(mail)
        await arranged.poison([], does)
        index.skip.clear()
        index.retry.push(bad)
        await index.follow(mail)
        expect(index.keys()).toEqual(keys.toSorted(byKey))
      },
    )

    test.each(['cut', 'refuse', 'omit'] as const)(
      'reports a single new message whose reading ends in %s',
      async does => {
        await using arranged = await setUp()
        const keys = await arranged.world.deliver(letters(3))
        const index = openIndex(arranged.inbox)
        await followOverConnections(arranged, index)
        const [bad] = await arranged.world.deliver(letters(1, 4))
        await arranged.poison([bad!], does)

        await followOverConnections(arranged, index)

        expect([...index.unreadable.keys()]).toEqual([bad])
        expect(index.keys()).toEqual(keys.toSorted(byKey))
      },
    )

    test('ends promptly when it is aborted, and while nothing is read', async () => {
      await using arranged = await setUp()
      await arranged.world.deliver(letters(600))
      await using account = await arranged.connect()
      const { mail } = account
      const abort = new AbortController()
      const index = openIndex(arranged.inbox, abort.signal)
      await index.compare(mail)
      await index.bring(mail, 1)
      const begunAt = performance.now()
      abort.abort()

      await expect(index.bring(mail)).rejects.toThrow(ProviderFailure)
      expect(performance.now() - begunAt).toBeLessThan(ANSWER_MILLISECONDS)
    })
  })
}

/** Contract of every `MailProvider` that watches over a connection of its own. */
export function describeBrokenConnections(name: string, setUp: () => Promise<TroubledArrangement>): void {
  describe(`${name}: broken connections`, () => {
    test('fails with unavailable when the provider ends the connection', async () => {
      await using arranged = await setUp()
      await using account = await arranged.connect({ pollSeconds: 1 })
      const { mail } = account
      await openIndex(arranged.inbox).follow(mail)

      const watching = mail.watch(arranged.inbox, 20, never)
      setTimeout(() => arranged.sayGoodbye(), 200)

      await expect(watching).rejects.toMatchObject({ name: 'ProviderFailure', kind: 'unavailable' })
    })

    test('notices a connection that died in silence', async () => {
      await using arranged = await setUp()
      await using account = await arranged.connect({ keepAliveSeconds: 1, answerSeconds: 1, pollSeconds: 1 })
      const { mail } = account
      await openIndex(arranged.inbox).follow(mail)

      const watching = mail.watch(arranged.inbox, 60, never)
      setTimeout(() => arranged.fallSilent(), 200)
      const begunAt = performance.now()

      await expect(watching).rejects.toMatchObject({ name: 'ProviderFailure', kind: 'unavailable' })
      expect(performance.now() - begunAt).toBeLessThan(ANSWER_MILLISECONDS)
    })
  })
}

/** Follows over one connection after the other, until one does not end before it is done. */
async function followOverConnections(
  { connect }: Pick<TroubledArrangement, 'connect'>,
  index: MemoryIndex,
): Promise<void> {
  let tries = 0
  for (let isDone = false; !isDone && tries < 12; tries++) {
    await using account = await connect()
    const { mail } = account
    isDone = await follows(index, mail)
  }
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
