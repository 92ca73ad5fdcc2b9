import { framesOf, type Kind, type Left } from './ledger.ts'

const FRAMES_MAX = 2

/**
 * Describes what was left open, for the person who mends it.
 * @param whose what has ended: the test or the file
 * @param file the path of the file that has ended. Something that an earlier file began may have opened a thing later.
 */
export function describeLeaks(whose: string, file: string, left: readonly Left[]): string {
  const lines = left.map(({ opened: { kind, name, stack }, owner }) => {
    const frames = framesOf(stack).filter(frame => !frame.includes('/node_modules/'))
    const isOther = owner.file !== '' && owner.file !== file
    const of = isOther ? `, by what ${owner.file} began` : ''
    return [`${kind}: ${name}${of}`, ...frames.slice(0, FRAMES_MAX)].join('\n')
  })
  return `${whose} left open:\n${lines.join('\n')}`
}

/** The kinds of a list of known leaks that a file no longer leaves open. */
export function findMended(listed: readonly Kind[], left: ReadonlySet<Kind>): Kind[] {
  return listed.filter(kind => !left.has(kind))
}
