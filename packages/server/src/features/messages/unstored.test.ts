import { describe, expect, test } from 'vitest'
import { BATCH_BYTES_MAX, cutBatch, type UnstoredMessage } from './unstored.ts'

const MIB = BATCH_BYTES_MAX

function messages(...sizes: number[]): UnstoredMessage[] {
  return sizes.map((size, nth) => ({
    id: String(nth),
    size,
    is_draft: false,
    is_renumbered: false,
    received_at: new Date(nth),
    source: 'INBOX',
    cursor: null,
    key: nth,
  }))
}

describe('a batch', () => {
  test.each([
    ['takes what fits into its octets', [10, 20, MIB - 30], Infinity, 3],
    ['ends before what does not', [10, 20, MIB - 29], Infinity, 2],
    ['is one message where that is larger', [20 * MIB, 10], Infinity, 1],
    ['ends before a larger one', [10, 20 * MIB, 10], Infinity, 1],
    ['keeps to the room', [10, 20, 30], 35, 2],
    ['uses the room to its end', [10, 20, 30], 60, 3],
    ['is empty where the first has no room', [10, 5], 9, 0],
    ['is empty where there is nothing', [], Infinity, 0],
  ])('%s', (_, sizes, room, count) => {
    const all = messages(...sizes)
    expect(cutBatch(all, room)).toEqual(all.slice(0, count))
  })
})
