-- Decides about one request in a sliding window.
--
-- KEYS[1]  the log of a name: a list of entries "leaves:total", oldest first.
--          leaves is when the requests of the entry leave the window, in
--          microseconds; total is how many requests were ever counted up to and
--          including them. The first entry has already left, so the requests in
--          the window are the last total minus the first. An entry may hold one
--          request or many: a limit may change between exact and bucketed.
-- ARGV     limit; 1 to count the request if it is allowed, else 0; the window and
--          the size of a bucket in microseconds, 0 for exact
-- Returns  1 if allowed, else 0; remaining; now; microseconds until the reset

local key = KEYS[1]
local limit, cost = tonumber(ARGV[1]), tonumber(ARGV[2])
local window, bucket = tonumber(ARGV[3]), tonumber(ARGV[4])
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]

local function entry(index)
  local text = redis.call('LINDEX', key, index)
  if not text then return nil, 0 end
  local leaves, total = string.match(text, '(%d+):(%d+)')
  return tonumber(leaves), tonumber(total)
end

local function format(leaves, total)
  return string.format('%.0f:%.0f', leaves, total)
end

local function expire(leaves)
  redis.call('PEXPIRE', key, math.ceil((leaves - now) / 1000) + 1000)
end

-- Returns the index of the first entry behind the head that leaves after a time
-- and has a greater total than the given one.
local function search(time, above)
  local low, high = 1, redis.call('LLEN', key)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local leaves, total = entry(middle)
    if leaves > time and total > above then high = middle else low = middle + 1 end
  end
  return low
end

-- Drop the entries that have left the window.
local last, total = entry(-1)
local _, left = entry(0)
if last and last > now + 2 * window then
  -- The clock stepped back by more than a window, for example because a replica
  -- took over. All counted requests leave one window from now, not hours later.
  last, total, left = now + window, total - left, 0
  redis.call('DEL', key)
  redis.call('RPUSH', key, format(0, 0), format(last, total))
  expire(last)
elseif last and last <= now then
  redis.call('DEL', key)
  last, total, left = nil, 0, 0
elseif last and entry(1) <= now then
  redis.call('LTRIM', key, search(now, 0) - 1, -1)
  _, left = entry(0)
end

local used = total - left
local allowed = used < limit
if allowed and cost > 0 then
  local leaves = now + window
  if bucket > 0 then
    leaves = (math.floor(now / bucket) + 1) * bucket + window
  end
  if last and leaves <= last then
    -- The same bucket, or the clock stepped back: a place becomes free late, not early.
    leaves = last
    redis.call('LSET', key, -1, format(leaves, total + cost))
  else
    if used == 0 then redis.call('RPUSH', key, format(0, 0)) end
    redis.call('RPUSH', key, format(leaves, total + cost))
  end
  expire(leaves)
  used = used + cost
end

local reset = now
if used > limit then -- the limit was lowered: several requests must leave
  reset = entry(search(0, total - limit))
elseif used > 0 then
  reset = entry(1)
end
return {allowed and 1 or 0, math.max(limit - used, 0), now, reset - now}
