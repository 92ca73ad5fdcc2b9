import fc from '../../../../test/property.ts'
import { describe, expect, test } from 'vitest'
import { planThreads, referenceKey, referenceKeys, type Threadable } from './threading.ts'

function message(
  id: string,
  internetMessageId: string | null,
  references: string[] = [],
  day = 1,
): Threadable {
  return { id, internetMessageId, references, receivedAt: new Date(Date.UTC(2026, 0, day)) }
}

function plan(messages: Threadable[], known: Record<string, string> = {}) {
  const links = new Map(Object.entries(known).map(([id, threadId]) => [referenceKey(id), threadId]))
  return planThreads(messages, referenceKeys(messages), links)
}

describe('planThreads', () => {
  test('a reply joins its parent in the batch, under the oldest id', () => {
    const { threadIds } = plan([
      message('b', '<2>', ['<1>'], 2),
      message('a', '<1>', [], 1),
      message('c', '<3>'),
    ])
    expect(Object.fromEntries(threadIds)).toEqual({ a: 'a', b: 'a', c: 'c' })
  })

  test('two replies to a missing parent are one thread', () => {
    const { threadIds, links } = plan([message('a', '<2>', ['<1>'], 1), message('b', '<3>', ['<1>'], 2)])
    expect(Object.fromEntries(threadIds)).toEqual({ a: 'a', b: 'a' })
    expect(links).toHaveLength(3)
  })

  test('a reply joins an indexed thread', () => {
    const { threadIds, links, joins } = plan([message('b', '<2>', ['<1>'])], { '<1>': 'old' })
    expect(threadIds.get('b')).toBe('old')
    expect(links).toEqual([{ reference: referenceKey('<2>'), threadId: 'old' }])
    expect(joins).toEqual([])
  })

  test('a late message that refers to two threads joins them under the older id', () => {
    const { threadIds, joins } = plan([message('c', '<3>', ['<1>', '<2>'])], {
      '<1>': 'thread-2',
      '<2>': 'thread-1',
    })
    expect(threadIds.get('c')).toBe('thread-1')
    expect(joins).toEqual([{ into: 'thread-1', from: ['thread-2'] }])
  })

  test('messages without any id are threads of their own', () => {
    const { threadIds, links } = plan([message('a', null), message('b', null)])
    expect(Object.fromEntries(threadIds)).toEqual({ a: 'a', b: 'b' })
    expect(links).toEqual([])
  })

  test('linked messages end in one thread and others do not, in any order and any batches', () => {
    const ids = fc.integer({ min: 0, max: 25 }).map(number => `<${number}>`)
    const mails = fc.array(fc.tuple(ids, fc.array(ids, { maxLength: 3 })), { maxLength: 30 })
    fc.assert(
      fc.property(mails, fc.integer({ min: 1, max: 7 }), (pairs, batchSize) => {
        const messages = pairs.map(([own, references], index) =>
          message(`m${String(index).padStart(3, '0')}`, own, references, 1 + (index % 28)),
        )
        const threadOf = new Map<string, string>()
        const known = new Map<string, string>()
        for (let at = 0; at < messages.length; at += batchSize) {
          const batch = messages.slice(at, at + batchSize)
          const keys = referenceKeys(batch)
          const mentioned = new Map([...known].filter(([key]) => [...keys.values()].flat().includes(key)))
          const { threadIds, links, joins } = planThreads(batch, keys, mentioned)
          for (const { into, from } of joins) {
            for (const [id, thread] of threadOf) if (from.includes(thread)) threadOf.set(id, into)
            for (const [key, thread] of known) if (from.includes(thread)) known.set(key, into)
          }
          for (const [id, thread] of threadIds) threadOf.set(id, thread)
          for (const { reference, threadId } of links) known.set(reference, threadId)
        }
        expect(groups(messages, ({ id }) => threadOf.get(id) ?? '')).toEqual(
          groups(messages, byBruteForce(messages)),
        )
      }),
    )
  })
})

/** Computes the same partition by spreading labels until nothing changes. */
function byBruteForce(messages: Threadable[]): (message: Threadable) => string {
  const labels = new Map<string, string>()
  const mentions = (one: Threadable) => [one.id, one.internetMessageId ?? one.id, ...one.references]
  for (const one of messages) for (const name of mentions(one)) labels.set(name, name)
  for (let isSpreading = true; isSpreading;) {
    isSpreading = false
    for (const one of messages) {
      const least = mentions(one)
        .map(name => labels.get(name) ?? name)
        .toSorted()[0]
      for (const name of mentions(one)) {
        if (least === undefined || labels.get(name) === least) continue
        labels.set(name, least)
        isSpreading = true
      }
    }
  }
  return one => labels.get(one.id) ?? one.id
}

function groups(messages: Threadable[], labelOf: (message: Threadable) => string): string[] {
  return [...Map.groupBy(messages, labelOf).values()]
    .map(group =>
      group
        .map(({ id }) => id)
        .toSorted()
        .join(),
    )
    .toSorted()
}
