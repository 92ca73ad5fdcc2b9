import { describe, expect, test } from 'vitest'
import { parseRedisUrl } from './redis-url.ts'

const PLAIN = {
  host: 'redis.test',
  port: 6379,
  isTls: false,
  username: undefined,
  password: undefined,
  database: 0,
}

describe('the URL of a Redis', () => {
  test.each([
    ['redis://redis.test', {}],
    ['redis://redis.test/', {}],
    ['redis://redis.test:6380/15', { port: 6380, database: 15 }],
    ['rediss://redis.test', { isTls: true }],
    ['redis://:secret@redis.test', { password: 'secret' }],
    ['redis://ada:p%40ss%2Fword@redis.test/1', { username: 'ada', password: 'p@ss/word', database: 1 }],
    ['redis://[::1]:6379', { host: '::1' }],
  ])('%s is read', (text, read) => {
    expect(parseRedisUrl(text)).toEqual({ ...PLAIN, ...read })
  })

  test.each([
    ['redis.test:6379', 'must be a URL'],
    ['http://redis.test', 'must be a URL'],
    ['redis://', 'must be a URL'],
    ['redis:///0', 'must be a URL'],
    ['redis://:secret@redis.test:99999', 'must be a URL'],
    ['redis://:secret@redis.test/cache', 'number of a database'],
    ['redis://:secret@redis.test/1/2', 'number of a database'],
    ['redis://:secret@redis.test?db=1', 'behind the database'],
    ['redis://:secret%@redis.test', '%25'],
  ])('%s is refused, without its password', (text, said) => {
    expect(() => parseRedisUrl(text)).toThrow(said)
    try {
      parseRedisUrl(text)
    } catch (error) {
      expect(String(error)).not.toContain('secret')
    }
  })
})
