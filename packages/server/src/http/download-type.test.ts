import { expect, test } from 'vitest'
import { downloadType } from './download-type.ts'

const BYTES = 'application/octet-stream'

test.each([
  ['image/png', 'image/png'],
  ['Audio/MPEG', 'audio/mpeg'],
  ['video/mp4', 'video/mp4'],
  ['text/html', BYTES],
  ['image/svg+xml', BYTES],
  ['audio/x+xml', BYTES],
  ['video/xhtml+xml', BYTES],
  ['audio/xml', BYTES],
  ['video/html', BYTES],
  ['text/xml', BYTES],
  ['image/png; charset=utf-7', BYTES],
  ['image/png\r\nx: y', BYTES],
  ['__proto__', BYTES],
  ['', BYTES],
])('the download of %j is served as %s', (contentType, served) => {
  expect(downloadType(contentType)).toBe(served)
})
