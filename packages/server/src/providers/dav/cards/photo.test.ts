import { describe, expect, test } from 'vitest'
import { splitFile } from '../../../kit/content-lines/content-file.ts'
import { readPhoto } from './photo.ts'

const IMAGE = Buffer.from('an image of some bytes')
const BASE64 = IMAGE.toString('base64')
const read = (...lines: string[]) =>
  readPhoto(splitFile(Buffer.from(lines.join('\r\n'))).lines.flatMap(({ content }) => content ?? []))

describe('readPhoto', () => {
  test.each([
    [`PHOTO;ENCODING=b;TYPE=JPEG:${BASE64}`, 'image/jpeg'],
    [`PHOTO;ENCODING=B;TYPE=image/png:${BASE64}`, 'image/png'],
    [`PHOTO;BASE64;JPG:${BASE64}`, 'image/jpeg'],
    [`PHOTO;TYPE=GIF;ENCODING=BASE64:\r\n ${BASE64.slice(0, 9)}\r\n  ${BASE64.slice(9)}`, 'image/gif'],
    [`PHOTO;ENCODING=b;MEDIATYPE=image/webp:${BASE64}`, 'image/webp'],
    [`PHOTO;ENCODING=b:${BASE64}`, null],
    [`PHOTO:data:image/jpeg;base64,${BASE64}`, 'image/jpeg'],
    [String.raw`PHOTO;VALUE=uri:DATA:Image/PNG\;base64\,${BASE64}`, 'image/png'],
    [`PHOTO:data:;x=y;base64,${BASE64}`, null],
  ])('reads the image of %s', (line, contentType) => {
    expect(read(line)).toMatchObject({ type: 'inline', contentType, content: IMAGE })
  })

  test('takes a long value for an image, even if it is not called one', () => {
    const long = Buffer.alloc(90, 'x')
    expect(read(`PHOTO;TYPE=JPEG:${long.toString('base64')}`)).toMatchObject({ content: long })
  })

  test.each([
    ['PHOTO;VALUE=uri:https://example.org/a.png', 'https://example.org/a.png'],
    [String.raw`PHOTO:http\://example.org/a\,b`, 'http://example.org/a,b'],
    ['PHOTO;MEDIATYPE=image/gif:HTTPS://example.org/', 'HTTPS://example.org/'],
  ])('reads the address of %s', (line, url) => {
    expect(read(line)).toMatchObject({ type: 'url', url })
  })

  test.each([
    'PHOTO:',
    'PHOTO:none',
    'PHOTO;ENCODING=b:???',
    'PHOTO:file:///etc/passwd',
    'PHOTO:cid:1',
    'PHOTO:data:image/jpeg,raw',
    'PHOTO:data:image/jpeg;base64,',
    'PHOTO:https://',
    `PHOTO:https://example.org/${'x'.repeat(2000)}`,
  ])('finds no photo in %s', line => {
    expect(read(line)).toEqual({ type: 'none' })
  })

  test('takes the first line that has one', () => {
    expect(read('PHOTO:', `PHOTO;ENCODING=b:${BASE64}`, 'PHOTO:https://example.org/')).toMatchObject({
      content: IMAGE,
    })
  })

  test('has the same version for the same image, however it is written', () => {
    const versionOf = (line: string) => (read(line) as { version?: string }).version
    const version = versionOf(`PHOTO;ENCODING=b:${BASE64}`)
    expect(version).toMatch(/^[\w-]{43}$/)
    expect(versionOf(`PHOTO:data:image/png;base64,${BASE64}`)).toBe(version)
    expect(versionOf('PHOTO;ENCODING=b:AAAA')).not.toBe(version)
    expect(versionOf('PHOTO:https://a.example/1')).not.toBe(versionOf('PHOTO:https://a.example/2'))
  })
})
