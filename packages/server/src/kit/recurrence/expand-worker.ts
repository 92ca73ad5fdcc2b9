import { parentPort } from 'node:worker_threads'
import type { Expansion } from './expand.ts'
import type { ExpanderAnswer } from './expander.ts'
import { expandSlowly } from './series.ts'

/* The thread of expander.ts. */

function answer(expansion: Expansion): ExpanderAnswer {
  const { members, ...rest } = expandSlowly(expansion)
  return {
    ...rest,
    walls: members.map(({ wall }) => wall).join(','),
    ends: members.flatMap(({ end }, nth) => (end === null ? [] : [[nth, end] as [number, string]])),
  }
}

parentPort?.on('message', (expansion: Expansion) => parentPort?.postMessage(answer(expansion), []))
