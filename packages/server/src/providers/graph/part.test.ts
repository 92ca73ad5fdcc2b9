import { expect, test } from 'vitest'
import { partOf } from './part.ts'

const lines = (...text: string[]) => text.join('\r\n')

const MESSAGE = lines(
  'Subject: A',
  'Content-Type: multipart/mixed; boundary="outer"',
  '',
  'before',
  '--outer',
  'Content-Type: multipart/alternative; boundary=inner',
  '',
  '--inner',
  'Content-Type: text/plain',
  '',
  'one',
  '--innermost is no delimiter',
  '--inner',
  'Content-Type: text/html',
  '',
  '<p>two</p>',
  '--inner--',
  'between',
  '--outer',
  'Content-Type: message/rfc822',
  '',
  'Subject: B',
  '',
  'enclosed',
  '',
  '--outer',
  'Content-Type: application/x',
  '',
  `${'x'.repeat(20_000)}`,
  '--outer--',
  'after',
)

async function read(message: string, number: string, isHeader = false, size = 7): Promise<string> {
  async function* pieces() {
    for (let at = 0; at < message.length; at += size) yield Buffer.from(message.slice(at, at + size))
  }
  const chunks: Buffer[] = []
  for await (const chunk of partOf(pieces(), number, isHeader)) chunks.push(chunk)
  return Buffer.concat(chunks).toString()
}

test.each([1, 7, 1_000, 100_000])('finds parts in pieces of %i bytes', async size => {
  expect(await read(MESSAGE, '1.1', false, size)).toBe('one\r\n--innermost is no delimiter')
  expect(await read(MESSAGE, '1.2', false, size)).toBe('<p>two</p>')
  expect(await read(MESSAGE, '2', false, size)).toBe('Subject: B\r\n\r\nenclosed\r\n')
  expect(await read(MESSAGE, '2.1', false, size)).toBe('enclosed\r\n')
  expect(await read(MESSAGE, '3', false, size)).toBe('x'.repeat(20_000))
  expect(await read(MESSAGE, '3', true, size)).toBe('Content-Type: application/x\r\n\r\n')
  expect(await read(MESSAGE, '1', false, size)).toMatch(/^--inner\r\n[\s\S]*--inner--\r\nbetween$/)
})

test('takes the body of a message without parts for its part 1, which has no header of its own', async () => {
  const message = lines('Subject: A', '', 'Dear Bob', '')
  expect(await read(message, '1')).toBe('Dear Bob\r\n')
  expect(await read(message, '1', true)).toBe('')
})

test.each(['4', '1.3', '2.2', '3.1', '1.1.1', '7'])('has no part %s', async number => {
  expect(await read(MESSAGE, number)).toBe('')
  expect(await read(MESSAGE, number, true)).toBe('')
})
