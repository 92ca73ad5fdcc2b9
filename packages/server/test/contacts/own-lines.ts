/* A second reader of the lines of a card, for comparisons. It shares no code with the service. */

export interface OwnLine {
  /** In upper case, without its group; empty if the line has none. */
  name: string
  /** With folds and line ending, as latin1. */
  bytes: string
}

/** Puts the physical lines of a file together, where they are continued. */
export function ownLines(file: Buffer): OwnLine[] {
  const text = file.toString('latin1').replace(/^\xef\xbb\xbf/, '')
  const physical = text.match(text.includes('\n') ? /[^\n]*\n|[^\n]+$/g : /[^\r]*\r|[^\r]+$/g) ?? []
  const lines: string[] = []
  for (const line of physical) {
    const last = lines.at(-1)
    const isSoft = last !== undefined && /^[^:]*quoted-printable[^:]*:/i.test(last) && /=[\r\n]+$/.test(last)
    const isContinued = last !== undefined && (/^[ \t]/.test(line) || (isSoft && !/^END:/i.test(line)))
    if (isContinued) lines[lines.length - 1] += line
    else lines.push(line)
  }
  return lines.map(bytes => {
    const unfolded = bytes.replaceAll(/[\r\n]+[ \t]/g, '')
    const [, name = ''] = /^(?:[^.:;]*\.)?([^.:;]+)[;:]/.exec(unfolded) ?? []
    return { name: name.trim().toUpperCase(), bytes }
  })
}
