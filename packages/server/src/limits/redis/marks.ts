import type { Marks } from '../marks.ts'
import type { RedisLink } from './link.ts'

/** Marks that all processes see. While Redis is gone, nothing is marked. */
export function createRedisMarks(link: RedisLink): Marks {
  return {
    async add(name, seconds) {
      await link.command('SET', name, 1, 'EX', seconds)
    },
    has: async name => (await link.command('EXISTS', name)) === 1,
    async delete(name) {
      await link.command('DEL', name)
    },
  }
}
