import { describe, expect, test } from 'vitest'
import { openMessageParser } from '../../src/kit/mime/message-parser.ts'
import { openMessageReader, ReaderLost } from '../../src/kit/mime/message-reader.ts'
import { summarize } from '../../src/kit/mime/summary.ts'
import { seeded } from '../seeded.ts'
import { generateMail } from '../mail/corpus.ts'
import { BOMBS } from './bombs.ts'

/** Many times what any takes on an idle machine, and a fraction of what something quadratic would. */
const PATIENCE_MS = 5000
const PIECE_BYTES = 256 * 1024

async function* inPieces(raw: Buffer, pieceBytes = PIECE_BYTES) {
  for (let at = 0; at < raw.length; at += pieceBytes) yield raw.subarray(at, at + pieceBytes)
}

describe('hostile mail', () => {
  test('comes in 40 kinds and more', () => expect(Object.keys(BOMBS).length).toBeGreaterThanOrEqual(40))

  test.each(Object.entries(BOMBS))('%s: is read within the bounds and still summarised', async (_, make) => {
    const raw = make()
    await using reader = openMessageReader()
    const begunAt = performance.now()
    const message = await reader.read(inPieces(raw))
    summarize(raw)
    expect(performance.now() - begunAt).toBeLessThan(PATIENCE_MS)
    expect(message).not.toBeNull()
    expect(message!.attachments.length).toBeLessThanOrEqual(1000)
    expect(JSON.stringify(message).length).toBeLessThan(32 * 1024 * 1024)
  })

  test('over a bound, shows what lies within', () => {
    const parser = openMessageParser()
    parser.push(BOMBS['1,001 parts']!())
    const message = parser.end()
    expect(message.isWhole).toBe(false)
    expect(message.text?.split('\n')).toHaveLength(999)
  })

  test('is never thrown at, whatever is changed in a message', () => {
    const random = seeded(3)
    const corpus = [...generateMail({ seed: 3, count: 40, brokenShare: 0.4 })]
    for (let round = 0; round < 1500; round++) {
      const raw = Buffer.from(random.pick(corpus).raw.subarray(0, 20_000))
      for (let change = random.between(1, 20); change > 0; change--) {
        const at = random.between(0, raw.length - 1)
        if (random.chance(0.5)) raw[at] = random.between(0, 255)
        else raw.copy(raw, at, random.between(0, raw.length - 1))
      }
      const parser = openMessageParser()
      const pieceBytes = random.between(1, 4000)
      for (let at = 0; at < raw.length; at += pieceBytes) parser.push(raw.subarray(at, at + pieceBytes))
      const message = parser.end()
      expect(`${message.text}${message.html}`.isWellFormed()).toBe(true)
      for (const { start, end } of message.attachments) expect(start <= end && end <= raw.length).toBe(true)
    }
  })
})

describe('the reader', () => {
  const small = () => inPieces(Buffer.from('Subject: x\r\n\r\nHello\r\n'))

  test('gives up a message that takes too long, and reads the next', async () => {
    const script = new URL(
      'data:text/javascript,import{parentPort as p}from"node:worker_threads";p.on("message",()=>{for(;;);})',
    )
    await using stuck = openMessageReader({ script, workMsMax: 200 })
    expect(await stuck.read(small())).toBeNull()
    expect(await stuck.read(small())).toBeNull()
    await using reader = openMessageReader()
    expect(await reader.read(small())).toMatchObject({ text: 'Hello\n', isWhole: true })
  })

  test('loses nobody but who was asked for when its thread ends', async () => {
    const script = new URL(
      'data:text/javascript,import{parentPort as p}from"node:worker_threads";p.on("message",()=>{for(;;);})',
    )
    await using stuck = openMessageReader({ script, workMsMax: 300 })
    const outcomes = await Promise.allSettled([stuck.read(small()), stuck.read(small())])
    expect(outcomes[0]).toEqual({ status: 'fulfilled', value: null })
    expect(outcomes[1]).toMatchObject({ status: 'rejected', reason: expect.any(ReaderLost) })
  })

  test('reads many at once, and passes on what their content throws', async () => {
    await using reader = openMessageReader()
    async function* broken() {
      yield Buffer.from('Subject: x\r\n')
      throw new Error('the connection is gone')
    }
    const reads = Array.from({ length: 30 }, (_, at) => reader.read(at % 3 === 0 ? broken() : small()))
    const outcomes = await Promise.allSettled(reads)
    for (const [at, outcome] of outcomes.entries())
      expect(outcome.status).toBe(at % 3 === 0 ? 'rejected' : 'fulfilled')
  })
})
