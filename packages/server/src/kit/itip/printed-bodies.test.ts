import { expect, test } from 'vitest'
import { openPrintedBodies } from './printed-bodies.ts'

/** Text of a body, and the number of steps in which it was printed. */
function print(bodies: ReturnType<typeof openPrintedBodies>, contentType: 'text' | 'html', content: string) {
  const steps = bodies.printSteps({ contentType, content })
  let count = 0
  for (;;) {
    const step = steps.next()
    if (step.done) return { ...step.value, count }
    count++
  }
}

const unfold = (line: string) => line.replaceAll('\r\n ', '').trimEnd()

test('a long body is printed in steps, and only once', () => {
  const bodies = openPrintedBodies()
  const content = '<p>Soup &amp; bread</p>'.repeat(40_000)
  const first = print(bodies, 'html', content)
  // Tags, characters and lines are bounded in each step.
  expect(first.count).toBeGreaterThan(200)
  expect(print(bodies, 'html', content)).toEqual({ ...first, count: 0 })
  expect(first.lines.map(unfold).map(line => line.slice(0, 40))).toEqual([
    'DESCRIPTION:Soup & bread\\n\\nSoup & bread',
    'X-ALT-DESC;FMTTYPE="text/html":<p>Soup &',
  ])
  expect(print(bodies, 'text', content).text).toBe(content)
})

test('a step ends neither within a character nor within a line break', () => {
  for (const unit of ['\u{1f963}', '\r\n', 'a\u{1f963}', 'a\r\n']) {
    const text = unit.repeat(40_000)
    const { lines } = print(openPrintedBodies(), 'text', text)
    expect(unfold(lines[0]!).slice('DESCRIPTION:'.length)).toBe(text.replaceAll('\r\n', '\\n'))
  }
})
