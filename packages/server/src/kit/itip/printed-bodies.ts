import { makeParameter, printLineSteps } from '../content-lines/print-line.ts'
import { escapeText } from '../content-lines/text-value.ts'
import { htmlToTextSteps } from '../mime/html-to-text.ts'
import type { Steps } from '../sliced-work.ts'
import type { ItipComponent } from './component.ts'
import { plainText } from './plain-text.ts'

type Body = NonNullable<ItipComponent['body']>

/** A body of an event as it is printed. */
export interface PrintedBody {
  text: string
  /** Its lines of a component, with their endings. */
  lines: readonly string[]
}

/** Bodies of events, each of which is printed once, however many components and messages have it. */
export interface PrintedBodies {
  printSteps(body: Body): Steps<PrintedBody>
}

const ENDING = '\r\n'
/** Characters of one step. */
const STEP_LENGTH = 32_768

export function openPrintedBodies(): PrintedBodies {
  const printed = { text: new Map<string, PrintedBody>(), html: new Map<string, PrintedBody>() }
  return {
    *printSteps(body) {
      const { contentType, content } = body
      const known = printed[contentType].get(content)
      if (known) return known
      const made = yield* printSteps(body)
      printed[contentType].set(content, made)
      return made
    },
  }
}

function* printSteps({ contentType, content }: Body): Steps<PrintedBody> {
  const text = contentType === 'html' ? yield* htmlToTextSteps(content) : content
  const lines = [yield* printTextSteps('DESCRIPTION', [], text)]
  if (contentType === 'html') {
    const parameters = [makeParameter('FMTTYPE', ['text/html'])]
    lines.push(yield* printTextSteps('X-ALT-DESC', parameters, content))
  }
  return { text, lines }
}

function* printTextSteps(
  rawName: string,
  parameters: Parameters<typeof printLineSteps>[0]['parameters'],
  text: string,
): Steps<string> {
  const escaped: string[] = []
  for (let from = 0; from < text.length;) {
    const to = endOfStep(text, from)
    escaped.push(escapeText(plainText(text.slice(from, to))))
    from = to
    yield
  }
  const line = { rawName, parameters, value: escaped.join('') }
  return (yield* printLineSteps(line, ENDING)).toString('utf8')
}

/** The end of a piece of text, which is not within a pair of surrogates or between CR and LF. */
function endOfStep(text: string, from: number): number {
  const end = from + STEP_LENGTH
  if (end >= text.length) return text.length
  return /[\r\ud800-\udbff]/.test(text[end - 1]!) ? end - 1 : end
}
