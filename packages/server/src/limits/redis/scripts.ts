import { hash } from 'node:crypto'

/** A Lua script, by the hash under which the server has it once it has run. */
export interface Script {
  text: string
  sha: string
}

function script(text: string): Script {
  return { text, sha: hash('sha1', text) }
}

/*
 * Only what Redis 7 and Valkey have in common. The clock is the server's. A window is a string, "<number of the window>
 * <count>", which expires a second after the window. A value of another form counts as nothing, and a value of another type
 * is deleted, so that a value that somebody else wrote is worth a minute at most.
 */
const PARTS = `
local function clock()
  local time = redis.call('TIME')
  return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
end

local function read(key, window)
  local value = redis.pcall('GET', key)
  if type(value) == 'table' then
    redis.call('DEL', key)
    return 0
  end
  local at, count = string.match(value or '', '^(%d+) (%d+)$')
  if at ~= string.format('%d', window) or #count > 9 then return 0 end
  return tonumber(count)
end

-- Counts on the keys from the first one on, each with its limit and what is added; or on none, if one is spent.
-- Returns the milliseconds until the window ends, and what was left of each.
local function count(now, length, first, limitOf, addedTo)
  local window = math.floor(now / length)
  local ends = (window + 1) * length - now
  local isOpen = true
  local counts, answer = {}, { ends }
  for n = first, #KEYS do
    counts[n] = read(KEYS[n], window)
    local left = math.max(0, limitOf(n) - counts[n])
    if left == 0 then isOpen = false end
    answer[#answer + 1] = left
  end
  if isOpen then
    for n = first, #KEYS do
      if addedTo(n) > 0 then
        redis.call('SET', KEYS[n], string.format('%d %d', window, counts[n] + 1), 'PX', ends + 1000)
      end
    end
  end
  return answer
end

local function clean(key)
  local kind = redis.call('TYPE', key).ok
  if kind ~= 'zset' and kind ~= 'none' then redis.call('DEL', key) end
end
`

/**
 * Counts on all windows or none. Keys: the windows. Arguments: milliseconds of a window, then for each its limit, and 1 or
 * 0 for what is added. Answers the milliseconds until the window ends, and what was left of each before.
 */
export const COUNT = script(`${PARTS}
return count(clock(), tonumber(ARGV[1]), 1,
  function(n) return tonumber(ARGV[2 * n]) end,
  function(n) return tonumber(ARGV[2 * n + 1]) end)`)

/**
 * Begins a request. Keys: the requests in progress of its credential (a sorted set by the end of their leases), then the
 * windows. Arguments: how many may be in progress, milliseconds of a lease, the name of the request, milliseconds of a
 * window, then the limit of each. Answers 0 if too many are in progress; otherwise 1, and what \`COUNT\` answers.
 */
export const BEGIN = script(`${PARTS}
local now = clock()
clean(KEYS[1])
-- This comes first since Redis refuses for want of memory only before the first write of a script.
redis.call('ZADD', KEYS[1], now + tonumber(ARGV[2]), ARGV[3])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now)
if redis.call('ZCARD', KEYS[1]) > tonumber(ARGV[1]) then
  redis.call('ZREM', KEYS[1], ARGV[3])
  return { 0 }
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
if #KEYS == 1 then return { 1, 0 } end
local answer = count(now, tonumber(ARGV[4]), 2,
  function(n) return tonumber(ARGV[n + 3]) end,
  function() return 1 end)
table.insert(answer, 1, 1)
return answer`)

/**
 * Renews the leases of requests in progress. Key: those of a credential. Arguments: milliseconds of a lease, how many of
 * the names that follow have ended, their names, and the names of those in progress. Puts back what was lost.
 */
export const RENEW = script(`${PARTS}
local now = clock()
local ended = tonumber(ARGV[2])
clean(KEYS[1])
for n = 3, #ARGV do
  if n < 3 + ended then redis.call('ZREM', KEYS[1], ARGV[n])
  else redis.call('ZADD', KEYS[1], now + tonumber(ARGV[1]), ARGV[n]) end
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return { 1 }`)
