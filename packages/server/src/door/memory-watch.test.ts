import { expect, test } from 'vitest'
import { openLog } from '../kit/log.ts'
import type { LoadClass } from './load-class.ts'
import { MemoryWatch } from './memory-watch.ts'

const CLASSES: LoadClass[] = ['costly', 'read', 'write']
const LOOK_MILLISECONDS = 500

/** A watch of a memory of 100 bytes. The test sets how many are used. */
function openWatch() {
  const lines: string[] = []
  const log = openLog({
    level: 'warn',
    format: 'json',
    destination: { write: line => void lines.push(line) },
  })
  const memory = { bytes: 0, garbage: 0, collections: 0 }
  let now = 0
  const watch = new MemoryWatch({
    read: () => ({ of: 'container memory', bytes: memory.bytes + memory.garbage, bytesMax: 100 }),
    collectGarbage() {
      memory.collections += 1
      memory.garbage = 0
    },
    log,
  })
  const refused = () => CLASSES.filter(one => watch.isShort(one))
  return {
    memory,
    lines,
    refused,
    /** Looks for so long while so many bytes are used. Returns the classes that are refused in the end. */
    use(bytes: number, seconds = 0) {
      memory.bytes = bytes
      for (const end = now + seconds * 1_000; now <= end; now += LOOK_MILLISECONDS) watch.look(now)
      return refused()
    },
  }
}

test.each<[bytes: number, refused: LoadClass[]]>([
  [80, []],
  [81, ['costly']],
  [85, ['costly']],
  [86, ['costly', 'read']],
  [90, ['costly', 'read']],
  [91, ['costly', 'read', 'write']],
])('when %d of 100 bytes are used, refuses %j', (bytes, refused) => {
  expect(openWatch().use(bytes)).toEqual(refused)
})

test('collects garbage before anything is refused, at most every ten seconds', () => {
  const watch = openWatch()
  watch.memory.garbage = 50
  expect(watch.use(40)).toEqual([])
  expect(watch.memory.collections).toBe(1)
  expect(watch.use(91, 9)).toEqual(CLASSES)
  expect(watch.memory.collections).toBe(1)
  watch.use(91, 19)
  expect(watch.memory.collections).toBe(3)
})

test('accepts requests again if refusing them for a minute frees nothing', () => {
  const watch = openWatch()
  expect(watch.use(86, 59)).toEqual(['costly', 'read'])
  expect(watch.lines).toEqual([])
  expect(watch.use(86, 11)).toEqual([])
  expect(watch.lines.join('')).toContain('"bytes":86,"limit":100,"reason":"container memory"')
  const { collections } = watch.memory
  expect(watch.use(86, 600)).toEqual([])
  expect(watch.memory.collections).toBe(collections)
  // 14 bytes are left: 11.2 of them for everybody, 11.9 for reads, and 12.6 for what changes something.
  expect(watch.use(97)).toEqual([])
  expect(watch.use(97.5)).toEqual(['costly'])
  expect(watch.use(98)).toEqual(['costly', 'read'])
  expect(watch.use(99)).toEqual(CLASSES)
})

test('refuses as at first once little was used again', () => {
  const watch = openWatch()
  watch.use(86, 70)
  expect(watch.use(75)).toEqual([])
  expect(watch.use(86)).toEqual([])
  expect(watch.use(69)).toEqual([])
  expect(watch.use(86)).toEqual(['costly', 'read'])
})

test('a minute of refusing begins anew when the memory is not short in between', () => {
  const watch = openWatch()
  watch.use(86, 50)
  watch.use(79)
  expect(watch.use(86, 59)).toEqual(['costly', 'read'])
})
