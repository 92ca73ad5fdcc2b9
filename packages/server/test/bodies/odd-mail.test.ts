import { describe, expect, test } from 'vitest'
import { summarize } from '../../src/kit/mime/summary.ts'
import { collapseText } from '../../src/kit/mime/text.ts'
import { ODD_MAIL } from '../mail/odd/odd-mail.ts'
import type { Fact } from '../mail/odd/odd-message.ts'
import { askPython } from './ask-python.ts'
import { comparableAttachments, ourFacts, parse, pythonDiffers, pythonFacts } from './facts.ts'

const FACTS: readonly Fact[] = ['text', 'html', 'attachments', 'subject', 'from', 'to', 'cc', 'date']
const MESSAGES = Object.entries(ODD_MAIL)

describe('odd mail', () => {
  const python = askPython(MESSAGES.map(([, { raw }]) => raw))

  test('covers at least 200 different kinds', () => {
    expect(MESSAGES.length).toBeGreaterThanOrEqual(200)
    expect(new Set(MESSAGES.map(([, { raw }]) => raw.toString('latin1'))).size).toBe(MESSAGES.length)
  })

  test.each(MESSAGES)('%s: is parsed as stated', (_, { raw, unlike, isUnservable: __, ...stated }) => {
    expect(ourFacts(raw)).toMatchObject(stated)
    for (const fact of unlike?.python ?? []) expect(stated, 'what is unlike is stated').toHaveProperty(fact)
  })

  test.each(MESSAGES.map(([name], index) => [name, index] as const))(
    '%s: is parsed as by Python',
    (name, index) => {
      const message = ODD_MAIL[name]!
      const ours = { ...ourFacts(message.raw), attachments: comparableAttachments(message.raw) }
      const theirs = pythonFacts(python[index]!)
      const isSame = (fact: Fact) => JSON.stringify(ours[fact]) === JSON.stringify(theirs[fact])
      for (const fact of FACTS) {
        // If a difference is stated but absent, the statement is wrong, not our parser.
        if (pythonDiffers(message, fact)) expect(isSame(fact), `${fact} is the same`).toBe(false)
        else if (fact in theirs && theirs[fact] !== undefined) expect(ours[fact], fact).toEqual(theirs[fact])
      }
    },
  )

  test('has the beginning of its text as its snippet', () => {
    for (const [name, { raw }] of MESSAGES) {
      const { text, html } = parse(raw)
      // The snippet of HTML is what HTML shows. For the mark at its end, and for NUL, it has a blank.
      if (text === null || html !== null || /[\0=]\s*$/.test(raw.toString('latin1')) || raw.includes(0))
        continue
      const shown = collapseText(text)
      const { snippet } = summarize(raw)
      expect(shown.startsWith(snippet), name).toBe(true)
      expect(snippet === '', name).toBe(shown === '')
    }
  })

  test('has attachments if one is listed that is not inline, in the list and in the whole message', () => {
    for (const [name, { raw }] of MESSAGES) {
      const { attachments, hasAttachments } = parse(raw)
      const isListed = attachments.some(
        ({ isInline, contentType }) =>
          !isInline && !/^message\/(?:delivery|disposition|feedback)/.test(contentType),
      )
      if (isListed) expect(hasAttachments, name).toBe(true)
      if (attachments.length === 0) expect(hasAttachments, name).toBe(false)
      if (raw.length <= 256 * 1024)
        expect(summarize(raw).hasAttachments, `${name}, in the list`).toBe(hasAttachments)
    }
  })

  test('is parsed the same in pieces of any size', () => {
    for (const [name, { raw }] of MESSAGES) {
      if (raw.length > 20_000) continue
      const whole = parse(raw)
      for (const pieceBytes of [1, 2, 3, 61])
        expect(parse(raw, pieceBytes), `${name} by ${pieceBytes}`).toEqual(whole)
    }
  })
})
