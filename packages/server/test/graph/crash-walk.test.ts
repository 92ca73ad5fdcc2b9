import { describe, expect, test } from 'vitest'
import type { Composition } from '../../src/features/sending/compose/composition.ts'
import type { GraphApi } from '../../src/providers/graph/api.ts'
import { fileOf, ID, messageTo, OUTBOX_ID } from './outgoing.ts'
import { type Office, useOffices } from './reach-writing.ts'
import { casesFor } from '../soak.ts'

const openOffice = useOffices()

class Died extends Error {}

/** Lets the process die at a request of its own: before Graph has it, or after Graph has carried it out. */
function dieAt(
  api: GraphApi,
  at: number,
  when: 'before' | 'after',
): { isDead(): boolean; die(): never; revive(): void } {
  const { ask, putRange } = api
  let calls = 0
  let isDead = false
  const dying = async <T>(work: () => Promise<T>): Promise<T> => {
    if (isDead) throw new Died()
    const isLast = calls++ === at
    if (isLast && when === 'before') isDead = true
    if (isDead) throw new Died()
    const result = await work()
    if (isLast) isDead = true
    if (isDead) throw new Died()
    return result
  }
  api.ask = (request, options) => dying(() => ask.call(api, request, options)) as never
  api.putRange = (url, range, options) => dying(() => putRange.call(api, url, range, options))
  return {
    isDead: () => isDead,
    die() {
      isDead = true
      throw new Died()
    },
    revive: () => Object.assign(api, { ask, putRange }),
  }
}

/** Sends a message through a death, and what the service does after it. @returns whether the process died at all */
async function sendThrough(
  eva: Office,
  to: string,
  death: { at: number; when: 'before' | 'after' },
  change: Partial<Composition>,
): Promise<boolean> {
  const message = await messageTo(eva, to, change)
  const dying = dieAt(eva.api, death.at, death.when)
  const isAnswered = await eva.sending.send(message).then(
    () => true,
    (error: unknown) => {
      if (!(error instanceof Died)) throw error
      return false
    },
  )
  const hasDied = dying.isDead()
  dying.revive()
  if (isAnswered) return hasDied
  const [trace] = message.traces
  if (trace !== undefined) {
    // The last look-ups come long after the hand-over.
    const handedOverAt = new Date(Date.now() - 600_000)
    const found = await eva.sending.lookUp({
      internetMessageId: ID,
      outboxId: OUTBOX_ID,
      trace,
      handedOverAt,
    })
    if (found.outcome === 'accepted') return true
    expect(found.outcome).toBe('not_accepted')
  }
  await eva.sending.send({ ...message, mayBePrepared: true })
  return true
}

describe('a send by Graph whose process dies', () => {
  const all: ReadonlyArray<[string, Partial<Composition>]> = [
    ['without files', {}],
    ['with files beside it', { attachments: [fileOf('a.pdf', 2_100_000), fileOf('b.pdf', 3_500_000)] }],
  ]
  // In CI, `sends-crash-walk.test.ts` has a message with files.
  test.each(casesFor(all, ([, change]) => Object.keys(change).length === 0))(
    'at any request arrives once, %s',
    async (_, change) => {
      await using eva = await openOffice()
      let deaths = 0
      for (const when of ['before', 'after'] as const) {
        for (let at = 0, hasDied = true; hasDied; at++) {
          await using finn = await openOffice()
          hasDied = await sendThrough(eva, finn.email, { at, when }, change)
          if (hasDied) deaths++
          const note = `${when} request ${at}`
          expect(await finn.list('inbox'), note).toHaveLength(1)
          expect(await eva.list('drafts'), note).toEqual([])
          const sent = await eva.list('sentitems')
          expect(sent, note).toHaveLength(1)
          // The next message has the same Message-ID.
          await eva.ask('POST', `messages/${sent[0].id}/permanentDelete`)
        }
      }
      expect(deaths).toBeGreaterThanOrEqual(Object.keys(change).length === 0 ? 4 : 10)
    },
  )

  test('between the record of the hand-over and the request arrives once', async () => {
    await using eva = await openOffice()
    await using finn = await openOffice()
    const message = await messageTo(eva, finn.email)
    const dying = dieAt(eva.api, Infinity, 'before')
    let trace: string | null = null
    const beforeHandOver = async (given: string | null) => {
      trace = given
      dying.die()
    }
    await expect(eva.sending.send({ ...message, beforeHandOver })).rejects.toBeInstanceOf(Died)
    dying.revive()
    const handed = { internetMessageId: ID, outboxId: OUTBOX_ID, trace }
    const soon = { ...handed, handedOverAt: new Date() }
    expect(await eva.sending.lookUp(soon)).toEqual({ outcome: 'not_known' })
    const late = { ...handed, handedOverAt: new Date(Date.now() - 600_000) }
    expect(await eva.sending.lookUp(late)).toEqual({ outcome: 'not_accepted' })
    await eva.sending.send({ ...message, mayBePrepared: true })
    expect(await finn.list('inbox')).toHaveLength(1)
    expect(await eva.list('drafts')).toEqual([])
    expect(await eva.list('sentitems')).toHaveLength(1)
  })
})
