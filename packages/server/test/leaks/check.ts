import { framesOf, type Kind, type Opened } from './ledger.ts'

const FRAMES_MAX = 2

/** Describes what was left open, for the person who mends it. */
export function describeLeaks(owner: string, left: readonly Opened[]): string {
  const lines = left.map(({ kind, name, stack }) => {
    const frames = framesOf(stack).filter(frame => !frame.includes('/node_modules/'))
    return [`${kind}: ${name}`, ...frames.slice(0, FRAMES_MAX)].join('\n')
  })
  return `${owner} left open:\n${lines.join('\n')}`
}

/** The kinds of a list of known leaks that a file no longer leaves open. */
export function findMended(listed: readonly Kind[], left: ReadonlySet<Kind>): Kind[] {
  return listed.filter(kind => !left.has(kind))
}
