-- Returns one token to a bucket of redis_rate, which has no call for it.
--
-- KEYS[1]  the bucket: when it is full, in seconds since 1 January 2017
-- ARGV     the seconds in which the bucket gains one token

local full = redis.call('GET', KEYS[1])
if not full then return 0 end
local time = redis.call('TIME')
full = tonumber(full) - tonumber(ARGV[1])
local left = full - (time[1] - 1483228800) - time[2] / 1000000
if left <= 0 then return redis.call('DEL', KEYS[1]) end
redis.call('SET', KEYS[1], full, 'EX', math.ceil(left))
return 1
