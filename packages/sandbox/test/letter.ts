/** A small message of these headers. */
export function letter(headers: Record<string, string>, body = 'Hello'): Buffer {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  return Buffer.from([...lines, '', body, ''].join('\r\n'))
}
